# SPDX-License-Identifier: GPL-2.0-only
"""The ./rnic command: standard library only, one file per subcommand."""
