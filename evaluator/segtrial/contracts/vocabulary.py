"""The table behind `segtrial.contracts.structures`: names, SNOMED CT codes, unions, other names.

Names are TotalSegmentator's where it has a class for the structure (most models and datasets of
CT use them already), in lower case, and ``<organ>_tumor`` for tumours. Codes come from the
TotalSegmentator terminology table of highdicom-style DICOM segmentations
(https://github.com/wasserth/TotalSegmentator/blob/0e65a448d5/resources) and, for what that table
has not, from the context groups of DICOM PS3.16. They were compared with the dictionary that
pydicom generates from PS3.16: the subclavian arteries, which the first table gives the code of the
*right* subclavian artery on both sides, carry the code of the artery here.

A structure without a code (``None``) has no concept that means exactly this: a merged class such as
``prostate_or_uterus``, or a class that only one dataset draws.
"""

from __future__ import annotations

PAIRED: dict[str, tuple[str, str] | None] = {
    "adrenal_gland": ("23451007", "Adrenal gland"),
    "autochthon": ("244849004", "Deep muscle of back"),
    "brachiocephalic_vein": ("8887007", "Brachiocephalic vein"),
    "breast": ("76752008", "Breast"),
    "cheek": ("60819002", "Cheek"),
    "clavicula": ("51299004", "Clavicle"),
    "common_carotid_artery": ("32062004", "Common carotid artery"),
    "eyeball": ("79652003", "Eyeball"),
    "femoral_head": ("2812003", "Head of femur"),
    "femur": ("71341001", "Femur"),
    "fibula": ("87342007", "Fibula"),
    "gluteus_maximus": ("181674001", "Gluteus maximus muscle"),
    "gluteus_medius": ("78333006", "Gluteus medius muscle"),
    "gluteus_minimus": ("75297007", "Gluteus minimus muscle"),
    "hip": ("29836001", "Hip"),
    "hippocampus": ("5366008", "Hippocampus"),
    "humerus": ("85050009", "Humerus"),
    "iliac_artery": ("73634005", "Common iliac artery"),
    "iliac_vena": ("46027005", "Common iliac vein"),
    "iliopsoas": ("68455001", "Iliopsoas muscle"),
    "kidney": ("64033007", "Kidney"),
    "kidney_cyst": ("367643001", "Cyst"),
    "lung": ("39607008", "Lung"),
    "optic_nerve": ("18234004", "Optic nerve"),
    "parotid_gland": ("45289007", "Parotid gland"),
    "patella": ("64234005", "Patella"),
    "scapula": ("79601000", "Scapula"),
    "subclavian_artery": ("36765005", "Subclavian artery"),
    "thyroid_gland": ("69748006", "Thyroid gland"),
    "tibia": ("12611008", "Tibia"),
    "ulna": ("23416004", "Ulna"),
}
"""Each stands for ``NAME_left``, ``NAME_right`` and ``NAME``, their union."""

SINGLE: dict[str, tuple[str, str] | None] = {
    "abdominal_tissue": None,
    "airway": ("89187006", "Airway"),
    "aorta": ("15825003", "Aorta"),
    "atrial_appendage_left": ("68786006", "Left auricular appendage"),
    "bone": ("272673000", "Bone"),
    "bone_lesion": None,
    "brachiocephalic_trunk": ("12691009", "Brachiocephalic artery"),
    "brain": ("12738006", "Brain"),
    "brain_tumor": None,
    "bronchie": ("955009", "Bronchus"),
    "celiac_trunk": ("57850000", "Celiac artery"),
    "colon": ("71854001", "Colon"),
    "colon_tumor": None,
    "costal_cartilages": ("50016007", "Costal cartilage"),
    "duodenum": ("38848004", "Duodenum"),
    "esophagus": ("32849002", "Esophagus"),
    "face": ("89545001", "Face"),
    "fat": ("55603005", "Adipose tissue"),
    "fdg_avid_tumor": None,
    "gallbladder": ("28231008", "Gallbladder"),
    "gonads": None,
    "heart": ("80891009", "Heart"),
    "heart_atrium_left": ("82471001", "Left atrium"),
    "heart_atrium_right": ("73829009", "Right atrium"),
    "heart_myocardium": ("74281007", "Myocardium"),
    "heart_tissue": None,
    "heart_ventricle_left": ("87878005", "Left ventricle of heart"),
    "heart_ventricle_right": ("53085002", "Right ventricle of heart"),
    "hepatic_vessel": None,
    "inferior_vena_cava": ("64131007", "Inferior vena cava"),
    "intervertebral_discs": None,
    "kidney_mass": None,
    "kidney_parenchyma": None,
    "kidney_tumor": None,
    "liver": ("10200004", "Liver"),
    "liver_tumor": ("108369006", "Neoplasm"),
    "lung_lower_lobe_left": ("90572001", "Lower lobe of lung"),
    "lung_lower_lobe_right": ("90572001", "Lower lobe of lung"),
    "lung_middle_lobe_right": ("72481006", "Middle lobe of right lung"),
    "lung_tumor": None,
    "lung_upper_lobe_left": ("45653009", "Upper lobe of lung"),
    "lung_upper_lobe_right": ("45653009", "Upper lobe of lung"),
    "lung_vessels": None,
    "mandible": ("91609006", "Mandible"),
    "mediastinal_tissue": None,
    "muscles": ("71616004", "Muscle"),
    "pancreas": ("15776009", "Pancreas"),
    "pancreas_tumor": None,
    "portal_vein_and_splenic_vein": ("110765007", "Portal vein and splenic vein"),
    "prostate": ("41216001", "Prostate"),
    "prostate_or_uterus": None,
    "pulmonary_artery": ("81040000", "Pulmonary artery"),
    "pulmonary_vein": ("122972007", "Pulmonary vein"),
    "rectum": ("34402009", "Rectum"),
    "ribs": ("113197003", "Rib"),
    "sacrum": ("54735007", "Sacrum"),
    "seminal_vesicle": ("64739004", "Seminal vesicle"),
    "skin": ("39937001", "Skin"),
    "skull": ("89546000", "Skull"),
    "small_bowel": ("30315005", "Small intestine"),
    "spinal_canal": ("61853006", "Spinal canal"),
    "spinal_cord": ("2748008", "Spinal cord"),
    "spleen": ("78961009", "Spleen"),
    "sternum": ("56873002", "Sternum"),
    "stomach": ("69695003", "Stomach"),
    "superior_vena_cava": ("48345005", "Superior vena cava"),
    "thymus": ("9875009", "Thymus"),
    "trachea": ("44567001", "Trachea"),
    "tumor_any": None,
    "urinary_bladder": ("89837001", "Urinary bladder"),
    "uterocervix": None,
    "uterus": ("35039007", "Uterus"),
    "vertebrae": ("51282000", "Vertebra"),
}

_RIB_CODES = (
    "48535007", "78247007", "25888004", "25523003", "15339008", "59558009",
    "24915002", "5953002", "22565002", "77644006", "58830002", "43993008",
)  # fmt: skip
_RIB_WORDS = (
    "First", "Second", "Third", "Fourth", "Fifth", "Sixth",
    "Seventh", "Eighth", "Ninth", "Tenth", "Eleventh", "Twelfth",
)  # fmt: skip
RIBS: dict[str, tuple[str, str]] = {
    f"rib_{side}_{number}": (code, f"{word} rib")
    for side in ("left", "right")
    for number, (code, word) in enumerate(zip(_RIB_CODES, _RIB_WORDS, strict=True), start=1)
}

VERTEBRAE: dict[str, tuple[str, str] | None] = {
    "vertebrae_c1": ("14806007", "C1 vertebra"),
    "vertebrae_c2": ("39976000", "C2 vertebra"),
    "vertebrae_c3": ("113205007", "C3 vertebra"),
    "vertebrae_c4": ("5329002", "C4 vertebra"),
    "vertebrae_c5": ("36978003", "C5 vertebra"),
    "vertebrae_c6": ("36054005", "C6 vertebra"),
    "vertebrae_c7": ("87391001", "C7 vertebra"),
    "vertebrae_t1": ("64864005", "T1 vertebra"),
    "vertebrae_t2": ("53733008", "T2 vertebra"),
    "vertebrae_t3": ("1626008", "T3 vertebra"),
    "vertebrae_t4": ("73071006", "T4 vertebra"),
    "vertebrae_t5": ("56401006", "T5 vertebra"),
    "vertebrae_t6": ("45296009", "T6 vertebra"),
    "vertebrae_t7": ("62487009", "T7 vertebra"),
    "vertebrae_t8": ("11068009", "T8 vertebra"),
    "vertebrae_t9": ("82687006", "T9 vertebra"),
    "vertebrae_t10": ("7610001", "T10 vertebra"),
    "vertebrae_t11": ("12989004", "T11 vertebra"),
    "vertebrae_t12": ("23215003", "T12 vertebra"),
    "vertebrae_l1": ("66794005", "L1 vertebra"),
    "vertebrae_l2": ("14293000", "L2 vertebra"),
    "vertebrae_l3": ("36470004", "L3 vertebra"),
    "vertebrae_l4": ("11994002", "L4 vertebra"),
    "vertebrae_l5": ("49668003", "L5 vertebra"),
    "vertebrae_l6": None,
    "vertebrae_s1": ("65985001", "S1 vertebra"),
}

UNIONS: dict[str, tuple[tuple[str, ...], ...]] = {
    "airway": (("trachea", "bronchie"),),
    "heart": (
        (
            "heart_myocardium",
            "heart_atrium_left",
            "heart_atrium_right",
            "heart_ventricle_left",
            "heart_ventricle_right",
        ),
    ),
    "kidney": (("kidney_left", "kidney_right"), ("kidney_parenchyma", "kidney_tumor")),
    "kidney_mass": (("kidney_tumor", "kidney_cyst"),),
    "lung_left": (("lung_upper_lobe_left", "lung_lower_lobe_left"),),
    "lung_right": (("lung_upper_lobe_right", "lung_middle_lobe_right", "lung_lower_lobe_right"),),
    "prostate_or_uterus": (("prostate", "uterus"),),
    "ribs": (tuple(RIBS),),
    "vertebrae": (tuple(v for v in VERTEBRAE if v not in ("vertebrae_l6", "vertebrae_s1")),),
}
"""Ways to make a structure of others: each tuple is one way, all of its parts are needed."""

INCLUDES: dict[str, tuple[str, ...]] = {
    "colon": ("colon_tumor",),
    "heart": ("atrial_appendage_left",),
    "kidney": ("kidney_cyst", "kidney_mass", "kidney_tumor"),
    "liver": ("liver_tumor",),
    "lung": ("lung_tumor",),
    "pancreas": ("pancreas_tumor",),
    "vertebrae": ("vertebrae_l6",),
}
"""Parts that belong to a structure where somebody gave them an id of their own.

An organ is scored with the tumours and cysts in it: datasets that do not separate them draw them
as the organ. A model that never writes these ids is not asked for them.
"""

ALIASES: dict[str, str] = {
    "adrenal": "adrenal_gland",
    "adrenals": "adrenal_gland",
    "bladder": "urinary_bladder",
    "bronchi": "bronchie",
    "caecum_and_colon": "colon",
    "coeliac_trunk": "celiac_trunk",
    "colon_cancer_primaries": "colon_tumor",
    "gall_bladder": "gallbladder",
    "head_of_femur_l": "femoral_head_left",
    "head_of_femur_r": "femoral_head_right",
    "hepatic_tumor": "liver_tumor",
    "intestine": "small_bowel",
    "ivc": "inferior_vena_cava",
    "kidney_and_masses": "kidney",
    "kidneys": "kidney",
    "left_adrenal_gland": "adrenal_gland_left",
    "left_kidney": "kidney_left",
    "left_lung": "lung_left",
    "lungs": "lung",
    "oesophagus": "esophagus",
    "pancreatic_tumor": "pancreas_tumor",
    "portal_and_splenic_vein": "portal_vein_and_splenic_vein",
    "portal_splenic_vein": "portal_vein_and_splenic_vein",
    "portal_vein_splenic_vein": "portal_vein_and_splenic_vein",
    "postcava": "inferior_vena_cava",
    "prostate_and_uterus": "prostate_or_uterus",
    "prostate_uterus": "prostate_or_uterus",
    "right_adrenal_gland": "adrenal_gland_right",
    "right_kidney": "kidney_right",
    "right_lung": "lung_right",
    "small_intestine": "small_bowel",
    "svc": "superior_vena_cava",
    "thyroid": "thyroid_gland",
    "thyroid_left": "thyroid_gland_left",
    "thyroid_right": "thyroid_gland_right",
    "whole_liver": "liver",
    "whole_pancreas": "pancreas",
}
"""Other spellings; written in lower case with ``_`` between words."""
