# SPDX-License-Identifier: GPL-2.0-only
"""The ladder of ./rnic play: records of rnic-play put into words, printed and drawn."""
