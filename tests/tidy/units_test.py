"""The systemd units: they are valid, and what they say fits together."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

import source_tree

UNITS = ("assay-coordinator.service", "assay-agent.service")


def section_of(text, wanted):
    """The section `wanted` of a unit: key -> values, in order."""
    values = {}
    section = ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line
        elif section == wanted and "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            values.setdefault(key, []).append(value)
    return values


def seconds(text):
    return int(re.fullmatch(r"(\d+)s", text).group(1))


class Units(unittest.TestCase):

    def read(self, name, wanted="[Service]"):
        return section_of(source_tree.read(f"systemd/{name}"), wanted)

    def test_valid(self):
        program = shutil.which("systemd-analyze")
        if program is None:
            self.skipTest("systemd-analyze is not installed")
        for name in UNITS:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                # It looks whether the program is there.
                text = source_tree.read(f"systemd/{name}").replace("/usr/bin/assay", "/bin/true")
                self.assertIn("/bin/true", text)
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                result = subprocess.run([program, "verify", path], capture_output=True, text=True,
                                        check=False)
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_restarts_without_limit(self):
        for name in UNITS:
            with self.subTest(name):
                self.assertEqual(self.read(name)["Restart"], ["always"])
                self.assertEqual(self.read(name, "[Unit]")["StartLimitIntervalSec"], ["0"])

    def test_a_stop_waits_for_the_tests_under_way(self):
        agent = self.read("assay-agent.service")
        grace = re.search(r"ASSAY_STOP_GRACE=(\S+)", " ".join(agent["Environment"])).group(1)
        self.assertGreater(seconds(agent["TimeoutStopSec"][0]), seconds(grace))
        self.assertEqual(agent["KillMode"], ["mixed"])

    def test_the_agent_reaches_its_devices(self):
        agent = self.read("assay-agent.service")
        closing = {"PrivateDevices", "ProtectClock", "DeviceAllow", "DevicePolicy"}
        self.assertEqual(closing & set(agent), set())

    def test_two_units_never_share_a_state_folder(self):
        # Their owners differ, and systemd would change the owner at every start.
        folders = [self.read(name)["StateDirectory"][0] for name in UNITS]
        self.assertEqual(len(set(folders)), len(folders))


if __name__ == "__main__":
    unittest.main()
