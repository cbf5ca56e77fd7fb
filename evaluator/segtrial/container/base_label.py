"""Labels by which a base image says what it was made of."""

LABEL_RECIPE = "org.segtrial.base.recipe"
LABEL_HOW = "org.segtrial.base.how"
LABEL_DIGEST = "org.segtrial.base.digest"
LABEL_STAGE = "org.segtrial.base.stage"
