# SPDX-License-Identifier: GPL-2.0-only
"""Reads a results folder and draws it; the cli package is the ./rnic command."""
