"""From fields to Hounsfield units and labels: later layers lie over earlier ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segtrial.datasets import phantom_bowel as bowel
from segtrial.datasets import phantom_frame as frame
from segtrial.datasets import phantom_organs as organs
from segtrial.datasets.phantom_body import Body
from segtrial.datasets.phantom_fields import Field, Length, Space, coverage, mm, smooth_noise
from segtrial.datasets.phantom_tissues import LABELS, tissue_hu

_AIR_HU, _GAS_HU, _LUNG_HU, _FAT_HU = -1000, -940, -860, -104


@dataclass(eq=False)
class Canvas:
    """The picture while it is painted.

    Attributes
    ----------
    hu : int32 array
        Hounsfield units without noise.
    labels : uint8 array
        Structure of each voxel.
    edge : int
        Half width of the ramp at surfaces, ticks: what a voxel averages over.
    """

    hu: Field
    labels: NDArray[np.uint8]
    edge: int

    def tint(self, field: Field, hu: int | Field) -> None:
        """Give what is inside the field another density, and leave its label."""
        self.hu += (hu - self.hu) * coverage(field, self.edge) >> 8

    def fill(self, field: Field, hu: int | Field, label: str | None = None) -> None:
        """Cover what is inside the field with a tissue, partly where the surface cuts a voxel."""
        self.tint(field, hu)
        self.labels[field < 0] = LABELS[label] if label else 0


def paint(body: Body, world: Space, *, edge: int, step: tuple[int, int, int]) -> Canvas:
    """Paint one body.

    Parameters
    ----------
    body : Body
        Who, and where.
    world : Space
        Position of each voxel in the scanner, ticks; the table lies there.
    edge : int
        Half width of the ramp at surfaces, ticks.
    step : tuple of int
        Voxels along each axis between control points of fine texture.

    Returns
    -------
    Canvas
    """
    shape = body.space.shape
    canvas = Canvas(np.full(shape, _AIR_HU, np.int32), np.zeros(shape, np.uint8), edge)
    canvas.fill(bowel.table(world), -250)
    painter = _Painter(canvas, body, step)
    painter.wall()
    painter.gut()
    painter.chest()
    painter.liver()
    painter.spleen()
    painter.kidneys()
    painter.vessels()
    painter.spine()
    return canvas


class _Painter:
    """Paints the layers of one body, in the order `paint` calls them."""

    def __init__(self, canvas: Canvas, body: Body, step: tuple[int, int, int]) -> None:
        self._canvas = canvas
        self._body = body
        self._step = step
        self._tissue_hu = tissue_hu(body)
        self._texture = smooth_noise(f"{body.case.case}/texture", body.space.shape, step)
        self._cavity = frame.cavity(body)
        self._diaphragm = frame.diaphragm(body)
        self._left_kidney = organs.kidney(body, -1)
        self._right_kidney = organs.kidney(body, 1)
        free = np.maximum(self._cavity + mm(3), self._diaphragm + mm(4))
        self._stomach = np.maximum(organs.stomach(body), free)

    def wall(self) -> None:
        """Skin, fat, muscle, what fills the cavity, ribs."""
        fill, body, muscle_hu = self._canvas.fill, self._body, self._tissue_hu["muscle"]
        wall = frame.muscle_wall(body)
        skin = frame.skin(body, wall)
        fill(skin, 20)
        fill(skin + mm(2), _FAT_HU + self._grain(12))
        fill(wall, muscle_hu + self._grain(11))
        fill(self._cavity, _FAT_HU + 6 + self._grain(12))
        fill(bowel.psoas(body), muscle_hu)
        rib = frame.ribs(body, wall)
        fill(rib, 420)
        fill(rib + mm(3), 160)

    def gut(self) -> None:
        """Bowel with fluid and gas, stomach, pancreas."""
        body, wall_hu = self._body, self._tissue_hu["gut"]
        for gut in (*bowel.loops(body), *bowel.colon(body)):
            outer = np.maximum(gut.wall, self._cavity + mm(3))
            self._hollow(outer, mm(3), wall_hu, gut.content_hu, gut.gas_above)
        pancreas_hu = self._tissue_hu["pancreas"] + self._grain(10)
        self._canvas.fill(bowel.pancreas(body), pancreas_hu)
        content_hu = body.vary("stomach/content", 8, 46)
        gas_above = mm(body.vary("stomach/gas", 30, 60))
        self._hollow(self._stomach, mm(5), wall_hu, content_hu, gas_above)

    def chest(self) -> None:
        """Lungs with their vessels, heart, and what lies between."""
        canvas, body, below = self._canvas, self._body, self._diaphragm
        chest = np.maximum(self._cavity, -below)
        canvas.fill(chest, 20)
        canvas.fill(np.maximum(frame.mediastinum(body), chest), -20 + self._grain(10))
        canvas.fill(np.maximum(frame.heart(body), -below), self._tissue_hu["vein"])
        lungs = frame.lungs(body, self._cavity, below)
        right = body.space.x > 0
        canvas.fill(np.where(right, lungs, mm(50)), _LUNG_HU, "lung_right")
        canvas.fill(np.where(right, mm(50), lungs), _LUNG_HU, "lung_left")
        canvas.tint(self._branches("lung", lungs, 900), -150)

    def liver(self) -> None:
        """Liver with vessels and tumours, gallbladder."""
        canvas, body, hu = self._canvas, self._body, self._tissue_hu
        liver = organs.liver(body, self._cavity, self._diaphragm, self._right_kidney.whole)
        canvas.fill(liver, hu["liver"] + self._grain(11), "liver")
        canvas.tint(self._branches("liver", liver, 700), hu["vessel"])
        bladder = organs.gallbladder(body)
        canvas.fill(bladder, 8)
        tumours = organs.liver_tumours(body, np.maximum(liver, -bladder))
        canvas.fill(tumours, hu["tumour"] + self._grain(10), "liver_tumor")

    def spleen(self) -> None:
        """The spleen, in those who have one."""
        if "no_spleen" in self._body.case.patient.traits:
            return
        kidney = self._left_kidney.whole
        spleen = organs.spleen(self._body, self._cavity, self._diaphragm, self._stomach, kidney)
        self._canvas.fill(spleen, self._tissue_hu["spleen"] + self._grain(11), "spleen")

    def kidneys(self) -> None:
        """Kidneys with cortex, pyramids and sinus, and their cysts."""
        traits = self._body.case.patient.traits
        if "no_left_kidney" not in traits:
            self._kidney(self._left_kidney, "kidney_left")
        if "no_right_kidney" not in traits:
            self._kidney(self._right_kidney, "kidney_right")
        self._canvas.fill(organs.kidney_cysts(self._body), 7, "kidney_cyst")

    def vessels(self) -> None:
        """Vena cava, aorta and its branches."""
        self._canvas.fill(organs.vena_cava(self._body), self._tissue_hu["vein"])
        self._canvas.fill(organs.iliac_arteries(self._body), self._tissue_hu["aorta"])
        self._canvas.fill(organs.aorta(self._body), self._tissue_hu["aorta"], "aorta")

    def spine(self) -> None:
        """Discs, canal and vertebrae, whose spongy bone thins with age."""
        canvas, spine = self._canvas, frame.spine(self._body)
        spongy_hu = 240 - self._body.case.patient.age * 5 // 4
        canvas.fill(spine.discs, 82)
        canvas.fill(spine.canal, 24)
        canvas.fill(spine.vertebrae, 430, "vertebrae")
        canvas.tint(spine.vertebrae + mm(3), spongy_hu + self._grain(9))

    def _grain(self, coarseness: int) -> Field:
        """Uneven density inside a tissue: about +-11 HU at 10, half as much for each step more."""
        return self._texture >> coarseness

    def _hollow(
        self, outer: Field, thickness: int, wall_hu: int, content_hu: int, gas_above: Length
    ) -> None:
        inner = outer + thickness
        self._canvas.fill(outer, wall_hu)
        self._canvas.fill(inner, content_hu + self._grain(10))
        self._canvas.fill(np.maximum(inner, gas_above - self._body.space.y), _GAS_HU)

    def _kidney(self, kidney: organs.Kidney, name: str) -> None:
        self._canvas.fill(np.maximum(kidney.whole, kidney.sinus), -70)
        self._canvas.fill(kidney.parenchyma, self._tissue_hu["cortex"], name)
        pyramids = np.maximum(kidney.parenchyma + mm(5), -(self._texture >> 4) - mm(4))
        self._canvas.tint(pyramids, self._tissue_hu["medulla"])

    def _branches(self, name: str, inside: Field, width: int) -> Field:
        """Thin winding tubes in an organ: where two smooth random fields are both near zero."""
        seed, shape = f"{self._body.case.case}/{name}", self._body.space.shape
        a = smooth_noise(f"{seed}/a", shape, self._step) >> 3
        b = smooth_noise(f"{seed}/b", shape, self._step) >> 3
        tube = ((a * a + b * b) >> 8) - width
        branches: Field = np.maximum(tube, inside + mm(4))
        return branches
