/* A stand-in for NVIDIA's management library: GPU 0 is whole, GPU 1 is split into two MIG slices.
 * Memory in use and energy grow with each look at them. Built and loaded by test_gpu.py. */
#include <stdio.h>
#include <string.h>

#define OK 0
#define NOT_SUPPORTED 3
#define NOT_FOUND 6
#define LOST 15
#define MIB 1048576ULL

typedef struct { const char *uuid, *name; unsigned long long total; } Device;
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned int gpu, memory; } Utilization;
typedef struct { unsigned int pid; unsigned long long used; unsigned int gi, ci; } Process;

static Device devices[] = {
    {"GPU-aaaa", "NVIDIA Stand-in 8GB", 8192 * MIB},
    {"GPU-bbbb", "NVIDIA Stand-in 8GB", 8192 * MIB},
    {"MIG-cccc", "NVIDIA Stand-in MIG 1g", 4096 * MIB},
    {"MIG-dddd", "NVIDIA Stand-in MIG 1g", 4096 * MIB},
    {"GPU-lost", "NVIDIA Stand-in 8GB", 8192 * MIB},
    {"GPU-busy", "NVIDIA Stand-in 8GB", 8192 * MIB},
};
static unsigned long long looks;

static int text(const char *from, char *to, unsigned int length) {
    snprintf(to, length, "%s", from);
    return OK;
}
static int is(Device *device, const char *uuid) { return strcmp(device->uuid, uuid) == 0; }

int nvmlInitWithFlags(unsigned int flags) { return OK; }
int nvmlInit_v2(void) { return OK; }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { return code == LOST ? "GPU is lost" : "some error"; }
int nvmlSystemGetDriverVersion(char *to, unsigned int n) { return text("999.1", to, n); }
int nvmlDeviceGetCount_v2(unsigned int *count) { *count = 2; return OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, Device **to) {
    *to = &devices[index];
    return OK;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, Device **to) {
    for (unsigned int i = 0; i < sizeof devices / sizeof *devices; i++)
        if (is(&devices[i], uuid)) { *to = &devices[i]; return OK; }
    return NOT_FOUND;
}
int nvmlDeviceGetUUID(Device *device, char *to, unsigned int n) { return text(device->uuid, to, n); }
int nvmlDeviceGetName(Device *device, char *to, unsigned int n) { return text(device->name, to, n); }
int nvmlDeviceGetMemoryInfo(Device *device, Memory *to) {
    if (is(device, "GPU-lost")) return LOST;
    *to = (Memory){device->total, 0, (100 + 10 * looks++) * MIB};
    return OK;
}
int nvmlDeviceGetUtilizationRates(Device *device, Utilization *to) {
    if (device->uuid[0] == 'M') return NOT_SUPPORTED;
    *to = (Utilization){75, 10};
    return OK;
}
int nvmlDeviceGetTotalEnergyConsumption(Device *device, unsigned long long *to) {
    if (device->uuid[0] == 'M') return NOT_SUPPORTED;
    *to = 5000 * looks;
    return OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(Device *device, unsigned int *count, Process *to) {
    unsigned int there = is(device, "GPU-busy"), room = *count;
    *count = there;
    if (room < there) return 7;
    if (there) to[0] = (Process){4242, MIB, 0, 0};
    return OK;
}
int nvmlDeviceGetMigMode(Device *device, unsigned int *now, unsigned int *later) {
    if (is(device, "GPU-aaaa")) return NOT_SUPPORTED;
    *now = *later = 1;
    return OK;
}
int nvmlDeviceGetMaxMigDeviceCount(Device *device, unsigned int *count) { *count = 7; return OK; }
int nvmlDeviceGetMigDeviceHandleByIndex(Device *device, unsigned int index, Device **to) {
    if (index > 1) return NOT_FOUND;
    *to = &devices[2 + index];
    return OK;
}
