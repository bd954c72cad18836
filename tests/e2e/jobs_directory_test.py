"""The jobs directory with the real program: files are created, changed and removed."""
import json
import os
import signal
import sqlite3
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../support'))
from harness import Bench, rank_table, until

INITIALIZING = '{"status": "initializing"}'


def table(ranks=2, node='node-0'):
    return rank_table({node: range(ranks)})


class JobsDirectory(unittest.TestCase):
    def setUp(self):
        self.bench = Bench()
        self.addCleanup(self.bench.stop)
        self.folder = os.path.join(self.bench.folder, 'jobs')
        os.mkdir(self.folder)

    def start(self, *flags):
        self.coordinator = self.bench.start_coordinator('--jobs-dir=' + self.folder, *flags)

    def restart(self):
        self.stop()
        self.start()

    def stop(self):
        self.coordinator.send_signal(signal.SIGTERM)
        self.assertEqual(self.coordinator.wait(20), 0)

    def path(self, job):
        return os.path.join(self.folder, job + '.json')

    def write(self, job, text):
        """Writes the file in place, as ascend-operator does."""
        with open(self.path(job), 'w', encoding='utf-8') as file:
            file.write(text)

    def rename_over(self, job, text):
        temporary = os.path.join(self.folder, '.' + job + '.tmp')
        with open(temporary, 'w', encoding='utf-8') as file:
            file.write(text)
        os.rename(temporary, self.path(job))

    def jobs(self):
        """{job: (state, ranks)}"""
        done = self.bench.run('job', 'list', '--json')
        self.assertEqual(done.returncode, 0, done.stderr)
        return {one['id']: (one['state'], one['rank_count']) for one in json.loads(done.stdout)}

    def wait_for(self, **jobs):
        until(f'the jobs {jobs}', lambda: self.jobs() == jobs or None)

    def log(self):
        return self.bench.log('coordinator')

    def said(self, text):
        until('the log line ' + text, lambda: text in self.log())

    def rows(self, query):
        connection = sqlite3.connect(
            'file:' + os.path.join(self.bench.folder, 'assay.db') + '?mode=ro', uri=True, timeout=20
        )
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def test_files_come_change_and_go(self):
        self.write('early', table(3))
        self.start()
        self.wait_for(early=('running', 3))
        self.write('j', INITIALIZING)
        self.wait_for(early=('running', 3), j=('pending', 0))
        self.write('j', table(2))
        self.wait_for(early=('running', 3), j=('running', 2))
        self.rename_over('j', table(4))
        self.wait_for(early=('running', 3), j=('running', 4))
        os.unlink(self.path('early'))
        self.wait_for(j=('running', 4))
        os.rename(self.path('j'), self.path('k'))
        self.wait_for(k=('running', 4))
        self.assertIn(('by the jobs directory',), set(self.origins()))

    def origins(self):
        for (text,) in self.rows("select text from events where kind = 'job_applied'"):
            yield (text[text.index('by ') :],)

    def test_an_object_of_its_own_names_the_job(self):
        words = {
            'name': 'train',
            'namespace': 'ns',
            'framework': 'pytorch',
            'masterAddr': '192.0.2.9',
            'sharedTorIp': '192.0.2.8',
        }
        self.start()
        self.write('j', json.dumps({**json.loads(table()), 'assay': words}))
        self.wait_for(j=('running', 2))
        self.assertEqual(
            self.rows('select name, namespace, framework, master_addr, shared_tor_ip from jobs'),
            [tuple(words.values())],
        )
        self.write('j', json.dumps({**json.loads(table()), 'assay': {'nam': 'x'}}))
        self.said(self.path('j') + ': line 1: assay.nam is not a known field')
        self.wait_for(j=('running', 2))

    def test_a_file_written_in_two_halves_is_no_broken_one(self):
        self.start()
        text = table(8)
        with open(self.path('j'), 'w', encoding='utf-8') as file:
            file.write(text[:200])
            file.flush()
            self.write('marker', INITIALIZING)
            until('the marker', lambda: 'marker' in self.jobs())
            file.write(text[200:])
        self.wait_for(j=('running', 8), marker=('pending', 0))
        self.assertNotIn('j.json', self.log())

    def test_files_that_stay_unfinished_are_said_once(self):
        self.start()
        self.write('cut', table()[:100])
        self.write('empty', '')
        self.said(self.path('cut') + ': unexpected end of file at offset 100')
        self.said(self.path('empty') + ': file is empty')
        self.write('cut', table(5))
        self.wait_for(cut=('running', 5))
        self.assertEqual(self.log().count('unexpected end of file'), 1)

    def test_what_is_no_table_is_said_and_blocks_nothing(self):
        os.mkfifo(self.path('fifo'))
        os.mkdir(self.path('folder'))
        os.symlink('/dev/zero', self.path('device'))
        os.symlink('nowhere', self.path('dangling'))
        os.symlink('elsewhere.txt', self.path('link'))
        with open(os.path.join(self.folder, 'elsewhere.txt'), 'w', encoding='utf-8') as file:
            file.write(table(3))
        with open(self.path('large'), 'w', encoding='utf-8') as file:
            file.truncate((64 << 20) + 1)
        self.write('secret', table())
        os.chmod(self.path('secret'), 0)
        self.write('.hidden', table())
        self.write(' space', table())
        with open(os.path.join(self.folder, 'j.json~'), 'w', encoding='utf-8') as file:
            file.write(table())
        self.write('good', table(1))
        self.start()
        expected = {'good': ('running', 1), 'link': ('running', 3)}
        if os.geteuid() == 0:  # root can read every file
            expected['secret'] = ('running', 2)
        else:
            self.said(self.path('secret') + ': cannot be opened: Permission denied')
        self.wait_for(**expected)
        for name in 'fifo', 'folder', 'device':
            self.said(self.path(name) + ': is not a regular file')
        self.said(self.path('large') + ': has 67108865 bytes, more than the limit of 67108864')
        self.said('" space.json" is ignored: job id " space" begins or ends with a space')
        os.chmod(self.path('secret'), 0o644)
        expected['secret'] = ('running', 2)
        self.wait_for(**expected)
        self.assertEqual(self.log().count('fifo.json'), 1)

    def test_files_removed_while_down_and_words_of_people(self):
        self.start()
        for job in 'gone', 'kept', 'ended', 'deleted', 'taken':
            self.write(job, table(2))
        until('five jobs', lambda: len(self.jobs()) == 5)
        self.bench.apply('hand', {'node-0': [0]})
        self.bench.apply('taken', {'node-0': [0, 1, 2]})
        self.assertEqual(self.bench.run('job', 'status', 'ended', 'complete').returncode, 0)
        done = self.bench.run('job', 'delete', 'deleted')
        self.assertEqual(done.returncode, 0)
        self.assertIn('its file still exists in the jobs directory', done.stderr)
        self.stop()
        os.unlink(self.path('gone'))
        self.write('new', table(1))
        self.start()
        expected = {
            'kept': ('running', 2),
            'ended': ('complete', 2),
            'hand': ('running', 1),
            'taken': ('running', 3),
            'new': ('running', 1),
        }
        self.wait_for(**expected)
        # The next change of each file takes effect again.
        self.write('deleted', table(4))
        self.write('taken', table(4))
        self.write('ended', table(4))
        for job in 'deleted', 'taken', 'ended':
            expected[job] = ('running', 4)
        self.wait_for(**expected)
        self.bench.apply('kept', {'node-0': [0]})
        for job in 'kept', 'deleted':
            os.unlink(self.path(job))
        del expected['deleted']
        expected['kept'] = ('running', 1)
        self.wait_for(**expected)

    def test_the_directory_may_come_late_and_be_replaced(self):
        os.rmdir(self.folder)
        self.start()
        self.said('jobs directory ' + self.folder + ': cannot be opened: No such file')
        os.mkdir(self.folder)
        self.write('j', table(2))
        self.wait_for(j=('running', 2))
        os.rename(self.folder, self.folder + '.old')
        os.mkdir(self.folder)
        self.write('k', table(3))
        self.wait_for(k=('running', 3))
        for name in os.listdir(self.folder):
            os.unlink(os.path.join(self.folder, name))
        os.rmdir(self.folder)
        until('the loss', lambda: self.log().count('cannot be opened: No such file') == 2)
        self.write_in(self.folder + '.new', 'm', table(1))
        os.rename(self.folder + '.new', self.folder)
        self.wait_for(m=('running', 1))

    def write_in(self, folder, job, text):
        os.mkdir(folder)
        with open(os.path.join(folder, job + '.json'), 'w', encoding='utf-8') as file:
            file.write(text)

    def test_a_run_ends_before_its_table_changes_or_its_job_goes(self):
        self.start()
        self.bench.start_agent('node-0', '--sim-op-ms=3000', '--sim-devices=8')
        self.write('j', table(2))
        self.write('k', rank_table({'node-0': [4, 5]}))
        self.wait_for(j=('running', 2), k=('running', 2))
        for job in 'j', 'k':
            done = self.bench.run('stress', job, '--op', 'aic', '--detach')
            self.assertEqual(done.returncode, 0, done.stderr)
        self.write('j', table(3))
        os.unlink(self.path('k'))
        self.said(self.path('j') + ': job "j" is under test in run 1: its rank table cannot change')
        self.said(self.path('k') + ' was removed, but job "k" is under test in run 2')
        self.wait_for(j=('running', 3))
        self.assertEqual(
            self.rows('select job, count(*) from results where code = 0 group by job'),
            [('j', 2), ('k', 2)],
        )
        self.assertEqual(self.log().count('its rank table cannot change'), 1)
        self.assertEqual(self.log().count('it cannot be deleted'), 1)

    def test_a_thousand_files_at_once(self):
        self.start()
        for i in range(1000):
            self.write(f'job-{i}', table(1, f'node-{i}'))
        until('a thousand jobs', lambda: len(self.jobs()) == 1000, 60)
        for i in range(1000):
            self.write(f'job-{i}', table(2, f'node-{i}'))
        until(
            'a thousand changes',
            lambda: set(self.jobs().values()) == {('running', 2)},
            60,
        )
        for i in range(0, 1000, 2):
            os.unlink(self.path(f'job-{i}'))
        until('five hundred jobs', lambda: len(self.jobs()) == 500, 60)
        self.restart()
        self.assertEqual(len(self.jobs()), 500)


if __name__ == '__main__':
    unittest.main()
