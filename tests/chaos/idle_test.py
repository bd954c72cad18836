"""The coordinator disconnects unresponsive subscribers within --idle-timeout, and no others.

The parts run at the same time, because they mostly wait.
"""
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
from harness import Bench, job_pb, rank_table, until

METHOD = 'job.Job/SubscribeJobSummarySignal'
ROLE = 'CCAgent'
IDLE = int(os.environ.get('ASSAY_IDLE_SECONDS', '20'))  # minimum of the flag
LATE = 5  # seconds of tolerance for a busy machine
# How much a subscriber's gRPC reads ahead: the default, or more than all TCP buffers.
WINDOWS = {'usual': [], 'large': [('grpc.http2.lookahead_bytes', 64 << 20)]}


def follow(address, window):
    """A subscriber that runs in a separate process: prints each signal and its end as a line."""
    options = [('grpc.use_local_subchannel_pool', 1), *WINDOWS[window]]
    with grpc.insecure_channel(address, options=options) as channel:
        register = channel.unary_unary(
            '/job.Job/Register',
            job_pb.ClientInfo.SerializeToString,
            job_pb.Status.FromString,
        )
        client = register(job_pb.ClientInfo(role=ROLE), timeout=20).clientId
        call = channel.unary_stream(
            '/' + METHOD,
            job_pb.ClientInfo.SerializeToString,
            job_pb.JobSummarySignal.FromString,
        )(job_pb.ClientInfo(role=ROLE, clientId=client))
        call.initial_metadata()
        print('subscribed', flush=True)
        try:
            for one in call:
                print(one.jobId, one.operator, one.jobStatus, flush=True)
        except grpc.RpcError as error:
            print('ended', error.code().name, error.details(), flush=True)


class Follower:
    """follow() in a process; before: a command that runs it."""

    def __init__(self, bench, window='usual', before=()):
        self.process = subprocess.Popen(
            [*before, sys.executable, os.path.abspath(__file__), 'follow', bench.address, window],
            stdout=subprocess.PIPE,
            text=True,
        )
        bench.children.append(self.process)
        self.lines = []
        threading.Thread(target=self._read, daemon=True).start()
        self.hears('subscribed')
        self.port = self._port(int(bench.address.rsplit(':', 1)[1]))

    def _read(self):
        with self.process.stdout as lines:
            self.lines.extend(line.rstrip('\n') for line in iter(lines.readline, ''))

    def hears(self, line, seconds=30):
        def heard():
            assert self.ended() is None, self.ended()
            return line in self.lines

        until(f'"{line}" of {self.lines[-3:]}', heard, seconds)

    def ended(self):
        return next((line for line in self.lines if line.startswith('ended')), None)

    def _port(self, server):
        """The local port of the process's connection to the server."""
        sockets = set()
        for fd in os.listdir(f'/proc/{self.process.pid}/fd'):
            try:
                sockets.add(os.readlink(f'/proc/{self.process.pid}/fd/{fd}'))
            except FileNotFoundError:
                pass
        ports = [
            row.local
            for row in connections(self.process.pid)
            if row.remote == server and f'socket:[{row.inode}]' in sockets
        ]
        assert len(ports) == 1, ports
        return ports[0]

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)


class Row:
    """A row of /proc/net/tcp or tcp6: ports, whether established, inode."""

    def __init__(self, line):
        fields = line.split()
        self.local, self.remote = (int(end.rsplit(':', 1)[1], 16) for end in fields[1:3])
        self.established = fields[3] == '01'
        self.inode = fields[9]


def connections(pid):
    """The TCP connections in the process's network namespace.

    Reads both tables, because an IPv4 connection may belong to an IPv6 socket.
    """
    rows = []
    for kind in ('tcp', 'tcp6'):
        with open(f'/proc/{pid}/net/{kind}', encoding='ascii') as file:
            rows += [Row(line) for line in list(file)[1:]]
    return rows


class World:
    """A coordinator with a job whose signals are large."""

    def __init__(self, *flags, host='127.0.0.1'):
        self.bench = Bench()
        self.served = self.bench.start_coordinator(
            f'--idle-timeout={IDLE}s', *flags, listen=host + ':0'
        )
        self.port = int(self.bench.address.rsplit(':', 1)[1])
        self.bench.apply('job', rank_table({f'node-{i}': range(8) for i in range(150)}))

    def connected(self, follower):
        """Whether the coordinator's end of the connection is still established."""
        return any(
            row.established and row.local == self.port and row.remote == follower.port
            for row in connections(self.served.pid)
        )

    def change(self, times):
        """Changes the job's state `times` times; the last state is running."""
        lines = 'job pending\njob running\n' * (times // 2)
        done = self.bench.run('job', 'status', '--stdin', text=lines)
        assert done.returncode == 0, done.stderr

    def await_release(self, what, follower, since):
        until(
            f'the release of {what}',
            lambda: not self.connected(follower),
            since + IDLE + LATE - time.monotonic(),
        )
        print(f'{what}: released after {time.monotonic() - since:.1f} s', file=sys.stderr)

    def refused(self):
        answer = self.bench.call('job.Job/Register', job_pb.ClientInfo(role=ROLE))
        return answer.code == 429


@contextmanager
def world(*flags, **where):
    made = World(*flags, **where)
    try:
        yield made
    finally:
        made.bench.stop()


def stopped_for_a_while(window):
    """Stops a reader repeatedly for a quarter of the timeout, at any phase of the pings."""
    with world() as made:
        follower = Follower(made.bench, window)
        for turn in range(3):
            began = time.monotonic()
            follower.stop()
            made.change(600)
            time.sleep(max(0, began + IDLE / 4 - time.monotonic()))
            follower.go_on()
            made.bench.apply(f'after-{turn}', {'n': [turn]})
            follower.hears(f'after-{turn} add running')
            newest = [line for line in follower.lines if line.startswith('job ')][-1]
            assert newest == 'job add running', newest
        assert made.connected(follower)


def stopped_for_ever():
    """Stops readers for good, with and without pending messages; their places become free."""
    with world('--subscriptions-max=2') as busy, world('--subscriptions-max=1') as quiet:
        followers = [
            ('a stopped reader with a usual window', busy, Follower(busy.bench, 'usual')),
            ('a stopped reader with a large window', busy, Follower(busy.bench, 'large')),
            ('a stopped reader that had nothing to read', quiet, Follower(quiet.bench)),
        ]
        for _, made, follower in followers:
            follower.hears('job add running')
            assert made.connected(follower)
        since = time.monotonic()
        for _, _, follower in followers:
            follower.stop()
        assert busy.refused() and quiet.refused()
        busy.change(600)
        for what, made, follower in followers:
            made.await_release(what, follower, since)
        for _, made, _ in followers:
            Follower(made.bench).hears('job add running')


def quiet_but_there():
    """A quiet live subscriber stays connected for two and a half times the timeout."""
    with world() as made:
        follower = Follower(made.bench)
        follower.hears('job add running')
        time.sleep(2.5 * IDLE)
        assert made.connected(follower)
        made.bench.apply('news', {'n': [0]})
        follower.hears('news add running')


def reads_nothing_but_is_there():
    """gRPC answers pings even if the application does not read, for any length of time."""
    with world() as made:
        register = made.bench.call('job.Job/Register', job_pb.ClientInfo(role=ROLE))
        heard = made.bench.listen(METHOD, job_pb.ClientInfo(role=ROLE, clientId=register.clientId))
        heard.pause()
        heard.accepted()
        made.change(600)
        time.sleep(1.5 * IDLE)
        made.bench.apply('news', {'n': [0]})
        made.bench.run('job', 'delete', 'job')
        heard.resume()

        def truth():
            newest = {one.jobId: (one.operator, one.jobStatus) for one in list(heard.messages)}
            return newest == {'job': ('delete', 'failed'), 'news': ('add', 'running')}

        until('the final states', truth)
        heard.close()


def ip(*args):
    done = subprocess.run(['ip', *args], capture_output=True, text=True)
    assert done.returncode == 0, f'ip {" ".join(args)}: {done.stderr}'


@contextmanager
def far_away():
    """A network namespace: its name, the name of its link, and our address on that link."""
    if os.geteuid() != 0 or not shutil.which('ip'):
        raise unittest.SkipTest('needs root and the command ip for a network namespace')
    space = f'assay-{os.getpid()}'
    done = subprocess.run(['ip', 'netns', 'add', space], capture_output=True, text=True)
    if done.returncode != 0:
        raise unittest.SkipTest(f'cannot create a network namespace: {done.stderr.strip()}')
    ours, theirs = f'as{os.getpid()}a', f'as{os.getpid()}b'
    net = os.getpid() % 16384  # a /30 of 198.18.0.0/16, reserved for benchmarks
    address = f'198.18.{net // 64}.{net % 64 * 4}'.rsplit('.', 1)
    near, far = (f'{address[0]}.{int(address[1]) + i}' for i in (1, 2))
    try:
        ip('link', 'add', ours, 'type', 'veth', 'peer', 'name', theirs, 'netns', space)
        ip('addr', 'add', near + '/30', 'dev', ours)
        ip('link', 'set', ours, 'up')
        ip('-n', space, 'addr', 'add', far + '/30', 'dev', theirs)
        ip('-n', space, 'link', 'set', theirs, 'up')
        yield space, theirs, near
    finally:
        # The kernel keeps a namespace as long as its connections retransmit.
        subprocess.run(['ip', 'link', 'del', ours], capture_output=True, check=False)
        subprocess.run(['ip', 'netns', 'del', space], check=False)


def link_goes_down():
    with far_away() as (space, link, near):
        one = ('--insecure', '--subscriptions-max=1')
        with world(*one, host=near) as busy, world(*one, host=near) as quiet:
            there = ('ip', 'netns', 'exec', space)
            followers = [
                ('a reader beyond a dead link', busy, Follower(busy.bench, before=there)),
                ('a quiet reader beyond a dead link', quiet, Follower(quiet.bench, before=there)),
            ]
            for _, made, follower in followers:
                follower.hears('job add running')
                assert made.connected(follower)
            assert busy.refused() and quiet.refused()
            since = time.monotonic()
            ip('-n', space, 'link', 'set', link, 'down')
            busy.change(600)
            for what, made, follower in followers:
                made.await_release(what, follower, since)
                Follower(made.bench).hears('job add running')


class Idle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        pool = ThreadPoolExecutor(8)
        cls.addClassCleanup(pool.shutdown)
        cls.parts = {
            part: pool.submit(*part)
            for part in (
                (stopped_for_a_while, 'usual'),
                (stopped_for_a_while, 'large'),
                (stopped_for_ever,),
                (quiet_but_there,),
                (reads_nothing_but_is_there,),
                (link_goes_down,),
            )
        }

    def test_a_process_stopped_for_a_quarter_of_the_time_catches_up(self):
        for window in WINDOWS:
            with self.subTest(window=window):
                self.parts[stopped_for_a_while, window].result()

    def test_a_process_stopped_for_ever_is_let_go(self):
        self.parts[(stopped_for_ever,)].result()

    def test_who_is_quiet_stays(self):
        self.parts[(quiet_but_there,)].result()

    def test_who_reads_nothing_stays(self):
        self.parts[(reads_nothing_but_is_there,)].result()

    def test_who_is_beyond_a_dead_link_is_let_go(self):
        self.parts[(link_goes_down,)].result()


if __name__ == '__main__':
    if sys.argv[1:2] == ['follow']:
        follow(*sys.argv[2:])
    else:
        unittest.main(verbosity=2)  # prints the reason of a skipped test
