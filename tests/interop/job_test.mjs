// Job signals as platforms use them (job.Job). job_test.py has the same cases under the same names.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';

import {Bench, grpc, rankTable, until} from './harness.mjs';

const single = 'job.Job/SubscribeJobSummarySignal';
const list = 'job.Job/SubscribeJobSummarySignalList';
const roles = ['CCAgent', 'DefaultUser1', 'DefaultUser2', 'FdAgent'];
const uuid4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const initializing = '{"status":"initializing"}';
const pageBytesMax = 4 * 1024 * 1024 - 64 * 1024;

const bench = new Bench();
let coordinator;
before(async () => { coordinator = await bench.startCoordinator(); });
after(() => bench.stop());

const register = (role, at = bench) => at.call('job.Job/Register', {role});
const text = (signal) => `${signal.operator} ${signal.jobStatus}`;

// A stream of either method, and the signals it received for one job, as "operator state".
class Follower {
  static async open({method = single, role = 'CCAgent', id, at = bench} = {}) {
    const follower = new Follower();
    follower.id = id ?? (await register(role, at)).clientId;
    follower.heard = at.listen(method, {role, clientId: follower.id});
    follower.isList = method === list;
    // The server sends the metadata once the stream is subscribed.
    await until('a subscription', () => follower.heard.metadata);
    return follower;
  }
  signals() {
    const {messages} = this.heard;
    return this.isList ? messages.flatMap((one) => one.jobSummarySignals) : messages;
  }
  of(job) { return this.signals().filter((signal) => signal.jobId === job); }
  told(job) { return this.of(job).map(text); }
  last(job) { return this.of(job).at(-1); }
  // Waits until the job's last signal is the expected one.
  hears(job, expected, ms) {
    return until(`${expected} of ${job}`, () => {
      const last = this.last(job);
      return last && text(last) === expected ? last : undefined;
    }, ms);
  }
  close() { this.heard.stream.cancel(); }
}

function setState(job, state, at = bench) {
  const done = at.run('job', 'status', job, state);
  assert.equal(done.status, 0, done.err);
}
function remove(job, at = bench) {
  const done = at.run('job', 'delete', job);
  assert.equal(done.status, 0, done.err);
}
// Sets states from lines "job state" over one connection.
async function setStates(lines, at = bench) {
  const done = await at.runAside(['job', 'status', '--stdin'], lines.map((l) => `${l}\n`).join(''));
  assert.equal(done.status, 0, done.err);
}
// A rank table of roughly the given size.
function largeTable(bytes) {
  const nodes = {};
  for (let i = 0; i * 700 < bytes; ++i) nodes[`node-${i}`] = [0, 1, 2, 3, 4, 5, 6, 7];
  return rankTable(nodes);
}
const nowSeconds = () => Math.floor(Date.now() / 1000);

test('register gives each role an id', async () => {
  const ids = new Set();
  for (const role of [...roles, ...roles]) {
    const {code, info, clientId} = await register(role);
    assert.deepEqual([code, info], [200, 'registration successful']);
    assert.match(clientId, uuid4);
    ids.add(clientId);
  }
  assert.equal(ids.size, 8);
});

test('a role that is not in the whitelist is refused', async () => {
  for (const role of ['somebody', 'ccagent', '']) {
    const {error} = await register(role);
    assert.deepEqual([error.code, error.details],
                     [grpc.status.PERMISSION_DENIED, `role:${role} is not in whitelist`]);
  }
});

test('subscribing with an unknown id is refused', async () => {
  for (const method of [single, list]) {
    const {code, details} = await bench.listen(method, {role: 'CCAgent', clientId: 'nobody'}).end;
    assert.deepEqual([code, details], [grpc.status.NOT_FOUND,
                                       'invalid clientId: nobody, please register first']);
  }
});

test('subscribing with another role is refused', async () => {
  const {clientId} = await register('CCAgent');
  for (const method of [single, list]) {
    const {code, details} = await bench.listen(method, {role: 'FdAgent', clientId}).end;
    assert.deepEqual([code, details], [grpc.status.PERMISSION_DENIED,
                                       'invalid role: FdAgent, please check role first']);
  }
});

test('a newer stream of an id replaces the older one', async () => {
  for (const [earlier, later] of [[single, single], [list, list], [single, list]]) {
    const older = await Follower.open({method: earlier});
    const newer = await Follower.open({method: later, id: older.id});
    const {code, details} = await older.heard.end;
    assert.equal(code, grpc.status.ABORTED);
    assert.match(details, /newer subscription/);
    bench.apply('replaced', {'r-a': [0]});
    await newer.hears('replaced', 'add running');
    remove('replaced');
    await newer.hears('replaced', 'delete failed');
    newer.close();
  }
});

test('of many streams of an id one stays', async () => {
  const {clientId} = await register('CCAgent');
  const many = Array.from({length: 10}, (_, i) =>
      bench.listen(i % 2 ? list : single, {role: 'CCAgent', clientId}));
  const ends = [];
  for (const heard of many) heard.end.then((status) => ends.push(status.code));
  await until('nine ends', () => ends.length === 9);
  bench.apply('one-stays', {'o-a': [0]});
  const has = ({messages}) => messages.some((one) =>
      (one.jobSummarySignals ?? [one]).some((signal) => signal.jobId === 'one-stays'));
  await until('one signal', () => many.filter(has).length === 1);
  assert.deepEqual(ends, Array(9).fill(grpc.status.ABORTED));
  for (const heard of many) heard.stream.cancel();
});

test('an id may be used again after its stream ended', async () => {
  const older = await Follower.open();
  older.close();
  assert.equal((await older.heard.end).code, grpc.status.CANCELLED);
  older.heard.client.close();
  bench.apply('again', {'a-a': [0]});
  const newer = await Follower.open({id: older.id, method: list});
  await newer.hears('again', 'add running');
  newer.close();
});

test('first every present job and those deleted lately', async () => {
  bench.apply('present-1', {'f-a': [0]});
  bench.apply('present-2', initializing);
  bench.apply('present-3', {'f-b': [0]});
  setState('present-3', 'failed');
  bench.apply('gone', {'f-c': [0]});
  remove('gone');
  for (const method of [single, list]) {
    const follower = await Follower.open({method});
    await follower.hears('gone', 'delete failed');  // the last change
    assert.deepEqual(follower.told('present-1'), ['add running']);
    assert.deepEqual(follower.told('present-2'), ['add pending']);
    assert.deepEqual(follower.told('present-3'), ['add failed']);
    assert.match(follower.last('gone').deleteTime, /^\d{10}$/);
    assert.match(follower.last('present-3').deleteTime, /^\d{10}$/);
    follower.close();
  }
});

test('then every change in its order', async () => {
  for (const method of [single, list]) {
    const job = `change-${method === list ? 'list' : 'single'}`;
    const follower = await Follower.open({method});
    const since = nowSeconds();
    const named = ['--name=Training 7', '--namespace=team', '--framework=pytorch'];
    bench.apply(job, initializing, ...named);
    bench.apply(job, {'c-a': [0, 1], 'c-b': [4]}, '--status=running', ...named);
    setState(job, 'complete');
    setState(job, 'failed');
    setState(job, 'running');
    bench.apply(job, {'c-c': [7]}, ...named);
    remove(job);
    await follower.hears(job, 'delete failed');
    const signals = follower.of(job);
    assert.deepEqual(signals.map(text),
                     ['add pending', 'add running', 'add complete', 'add failed', 'add running',
                      'add running', 'delete failed']);
    for (const signal of signals) {
      const {jobId, jobName, namespace, frameWork, cmIndex, total, sid, time} = signal;
      assert.deepEqual([jobId, jobName, namespace, frameWork, cmIndex, total, sid],
                       [job, 'Training 7', 'team', 'pytorch', '0', '1', '']);
      assert.match(signal.uuid, uuid4);
      assert.match(time, /^\d{10}$/);
      assert.ok(Number(time) >= since - 1 && Number(time) <= nowSeconds() + 1, time);
      if (['complete', 'failed'].includes(signal.jobStatus) || signal.operator === 'delete') {
        assert.match(signal.deleteTime, /^\d{10}$/);
        assert.ok(Number(signal.deleteTime) >= Number(time), signal.deleteTime);
      } else {
        assert.equal(signal.deleteTime, '');
      }
    }
    assert.equal(new Set(signals.map((signal) => signal.uuid)).size, signals.length);
    assert.equal(new Set(signals.map((signal) => signal.time)).size, 1);
    assert.equal(signals[0].HcclJson, initializing);
    const table = JSON.parse(signals[1].HcclJson);
    assert.equal(table.status, 'complete');
    assert.equal(table.server_count, '2');
    assert.equal(table.version, '1.0');
    assert.deepEqual(table.server_list.map(({server_id, server_name}) => [server_id, server_name]),
                     [['192.0.2.1', 'c-a'], ['192.0.2.2', 'c-b']]);
    const devices = table.server_list.map(({device}) =>
        device.map(({device_id, rank_id}) => [device_id, rank_id]));
    assert.deepEqual(devices, [[['0', '0'], ['1', '1']], [['4', '2']]]);
    assert.equal(signals[4].HcclJson, signals[1].HcclJson);
    assert.deepEqual(JSON.parse(signals[5].HcclJson).server_list.map((one) => one.server_name),
                     ['c-c']);
    follower.close();
  }
});

test('the same state again is no signal', async () => {
  bench.apply('same', {'s-a': [0]});
  const follower = await Follower.open();
  await follower.hears('same', 'add running');
  setState('same', 'running');
  bench.apply('same', {'s-a': [0]});
  setState('same', 'running');
  setState('same', 'complete');
  setState('same', 'complete');
  remove('same');
  await follower.hears('same', 'delete complete');
  assert.deepEqual(follower.told('same'), ['add running', 'add complete', 'delete complete']);
  follower.close();
});

test('deleted and applied again are two lives', async () => {
  const followers = [await Follower.open(), await Follower.open({method: list})];
  bench.apply('lives', {'l-a': [0]});
  for (let i = 0; i < 3; ++i) {
    remove('lives');
    bench.apply('lives', {'l-a': [0]});
  }
  setState('lives', 'complete');
  const expected = [...Array(3).fill(['add running', 'delete failed']).flat(), 'add running',
                    'add complete'];
  for (const follower of followers) {
    await follower.hears('lives', 'add complete');
    assert.deepEqual(follower.told('lives'), expected);
    follower.close();
  }
});

test('the network of the training is told for pytorch', async () => {
  const follower = await Follower.open();
  const network = ['--master-addr=192.0.2.9', '--shared-tor-ip=198.51.100.9'];
  bench.apply('torch', {'t-a': [0]}, '--framework=pytorch', ...network);
  bench.apply('spore', {'t-b': [0]}, '--framework=mindspore', ...network);
  const torch = await follower.hears('torch', 'add running');
  assert.deepEqual([torch.frameWork, torch.masterAddr, torch.sharedTorIp],
                   ['pytorch', '192.0.2.9', '198.51.100.9']);
  const spore = await follower.hears('spore', 'add running');
  assert.deepEqual([spore.frameWork, spore.masterAddr, spore.sharedTorIp], ['mindspore', '', '']);
  follower.close();
});

test('every subscriber gets the same bytes and both methods the same signals', async () => {
  const singles = await Promise.all(roles.map((role) => Follower.open({role})));
  const lists = await Promise.all(roles.map((role) => Follower.open({method: list, role})));
  const all = [...singles, ...lists];
  bench.apply('bytes', {'y-a': [0, 1]}, '--name=\u8bad\u7ec3 \u{1f600}');
  for (let i = 0; i < 5; ++i) {
    setState('bytes', 'complete');
    setState('bytes', 'running');
  }
  remove('bytes');
  for (const follower of all) await follower.hears('bytes', 'delete failed');
  const bytesOf = (follower) => follower.heard.messages
      .map((message, i) => ({message, bytes: follower.heard.bytes[i].toString('hex')}))
      // Without the snapshot of a list, which is serialised for each subscriber.
      .filter(({message}) => follower.isList ?
          message.JobTotalNum === 1 && message.jobSummarySignals[0].jobId === 'bytes' :
          message.jobId === 'bytes')
      .map(({bytes}) => bytes);
  for (const group of [singles, lists]) {
    const first = bytesOf(group[0]);
    assert.equal(first.length, 12);
    for (const follower of group) assert.deepEqual(bytesOf(follower), first);
  }
  assert.deepEqual(lists[0].of('bytes'), singles[0].of('bytes'));
  const uuids = singles[0].signals().map((signal) => signal.uuid);
  assert.equal(new Set(uuids).size, uuids.length);
  assert.equal(singles[0].of('bytes')[0].jobName, '\u8bad\u7ec3 \u{1f600}');
  for (const follower of all) follower.close();
});

test('lists are paged and later changes are lists of one', async () => {
  const other = new Bench();
  try {
    await other.startCoordinator();
    const names = Array.from({length: 200}, (_, i) => `job-${i}`);
    const table = largeTable(60_000);
    for (let i = 0; i < names.length; i += 10) {  // ten at a time
      const done = await Promise.all(names.slice(i, i + 10).map((name) =>
          other.runAside(['job', 'apply', name, '--rank-table=-'], table)));
      for (const one of done) assert.equal(one.status, 0, one.err);
    }
    const follower = await Follower.open({method: list, at: other});
    await until('all jobs', () => follower.signals().length === names.length);
    const pages = [...follower.heard.messages];
    assert.ok(pages.length > 2, `${pages.length} pages`);
    for (const bytes of follower.heard.bytes) assert.ok(bytes.length <= pageBytesMax);
    assert.deepEqual([...new Set(pages.map((page) => page.JobTotalNum))], [names.length]);
    assert.equal(new Set(pages.map((page) => page.ReportTime)).size, 1);
    assert.match(pages[0].ReportTime, /^\d{13}$/);
    assert.deepEqual(new Set(follower.signals().map((one) => one.jobId)), new Set(names));
    setState('job-7', 'complete', other);
    await follower.hears('job-7', 'add complete');
    remove('job-8', other);
    await follower.hears('job-8', 'delete failed');
    const later = follower.heard.messages.slice(pages.length);
    assert.deepEqual(later.map((one) => [one.JobTotalNum, one.jobSummarySignals.length]),
                     [[1, 1], [1, 1]]);
    for (const one of later) assert.ok(Number(one.ReportTime) >= Number(pages[0].ReportTime));
  } finally {
    await other.stop();
  }
});

test('a table too large for a message is left out', async () => {
  const followers = [await Follower.open(), await Follower.open({method: list})];
  const table = largeTable(5_700_000);
  assert.ok(table.length > 4 << 20);
  bench.apply('large', table);
  for (const follower of followers) {
    assert.equal((await follower.hears('large', 'add running')).HcclJson, '');
  }
  // Also among others, in a snapshot.
  const late = await Follower.open({method: list});
  assert.equal((await late.hears('large', 'add running')).HcclJson, '');
  bench.apply('large', {'g-a': [0]});
  for (const follower of [...followers, late]) {
    await until('the small table', () => follower.last('large').HcclJson.includes('g-a'));
    follower.close();
  }
  remove('large');
});

test('a paused reader ends with the truth', async () => {
  const jobs = Array.from({length: 20}, (_, i) => `paused-${i}`);
  const table = largeTable(20_000);
  for (const job of jobs) bench.apply(job, table);
  const quick = await Follower.open();
  const slow = [await Follower.open(), await Follower.open({method: list})];
  for (const follower of slow) {
    await follower.hears(jobs.at(-1), 'add running');  // each job was seen
    follower.heard.stream.pause();
  }
  const states = ['pending', 'running', 'complete', 'failed'];
  for (let round = 0; round < 4; ++round) {
    await setStates(Array.from({length: 500}, (_, i) =>
        `${jobs[i % 20]} ${states[(i + Math.floor(i / 20) + round) % 4]}`));
    if (round === 1) {  // delete and apply again while the slow followers are paused
      remove(jobs[1]);
      bench.apply(jobs[1], table);
    }
  }
  for (const job of [jobs[0], jobs[5]]) remove(job);
  bench.apply('paused-last', {'p-z': [0]});
  await quick.hears('paused-last', 'add running');
  for (const follower of slow) follower.heard.stream.resume();
  const truth = Object.fromEntries(bench.run('job', 'list', '--json').json.map(
      ({id, state}) => [id, `add ${state}`]));
  for (const follower of [quick, ...slow]) {
    await follower.hears('paused-last', 'add running', 60000);
    for (const job of jobs) {
      const told = follower.told(job);
      if ([jobs[0], jobs[5]].includes(job)) {
        assert.match(told.at(-1), /^delete /);
      } else {
        assert.equal(told.at(-1), truth[job], job);
      }
    }
    const ends = follower.told(jobs[1]).filter((one) => one.startsWith('delete'));
    assert.equal(ends.length, 1);
    assert.equal(new Set(follower.signals().map(({uuid}) => uuid)).size, follower.signals().length);
    follower.close();
  }
  // The slow followers got conflated signals, and the quick one was not delayed.
  for (const follower of slow) {
    assert.ok(follower.signals().length < quick.signals().length, 'nothing was conflated');
  }
});

test('after a kill the old id is unknown and the truth comes again', async () => {
  const other = new Bench();
  try {
    let served = await other.startCoordinator();
    for (const job of ['stays', 'ends', 'goes']) other.apply(job, {'k-a': [0], 'k-b': [1]});
    const old = await Follower.open({at: other});
    setState('ends', 'failed', other);
    remove('goes', other);
    await old.hears('goes', 'delete failed');
    await other.kill(served);
    assert.equal((await old.heard.end).code, grpc.status.UNAVAILABLE);
    served = await other.startCoordinator();
    for (const method of [single, list]) {
      const {code, details} = await other.listen(method, {role: 'CCAgent', clientId: old.id})
                                        .end;
      assert.deepEqual([code, details],
                       [grpc.status.NOT_FOUND,
                        `invalid clientId: ${old.id}, please register first`]);
      const back = await Follower.open({method, at: other});
      await until('all three', () => back.signals().length === 3);
      assert.deepEqual(['stays', 'ends', 'goes'].map((job) => back.told(job)),
                       [['add running'], ['add failed'], ['delete failed']]);
      for (const job of ['stays', 'ends', 'goes']) {
        const [then, now] = [old.last(job), back.last(job)];
        assert.notEqual(now.uuid, then.uuid);
        assert.deepEqual({...now, uuid: ''}, {...then, uuid: ''});
      }
      back.close();
    }
  } finally {
    await other.stop();
  }
});

test('the limit of subscriptions is answered', async () => {
  const other = new Bench();
  try {
    await other.startCoordinator('--subscriptions-max=2');
    const ids = await Promise.all(roles.slice(0, 3).map(async (role) =>
        ({role, clientId: (await register(role, other)).clientId})));
    const first = await Follower.open({role: ids[0].role, id: ids[0].clientId, at: other});
    const second = await Follower.open({role: ids[1].role, id: ids[1].clientId, method: list,
                                        at: other});
    for (const method of [single, list]) {
      const {code, details} = await other.listen(method, ids[2]).end;
      assert.equal(code, grpc.status.RESOURCE_EXHAUSTED);
      assert.match(details, /^2 subscriptions are open.*--subscriptions-max/);
    }
    const {code, info, clientId} = await register('CCAgent', other);
    assert.deepEqual([code, clientId], [429, '']);
    assert.match(info, /2/);
    // An id may always replace its own subscription; a closed subscription frees its place.
    const again = await Follower.open({role: ids[0].role, id: ids[0].clientId, at: other});
    assert.equal((await first.heard.end).code, grpc.status.ABORTED);
    second.close();
    await until('a place', async () => (await register('CCAgent', other)).code === 200);
    const third = await Follower.open({role: ids[2].role, id: ids[2].clientId, at: other});
    for (const follower of [again, third]) follower.close();
  } finally {
    await other.stop();
  }
});

test('bad input is refused and hurts nobody', async () => {
  const follower = await Follower.open();
  const short = ({details}) => {
    assert.ok(details.length < 1024, details);
    assert.doesNotMatch(details, /[\x00-\x1f\x7f-\x9f]/);
  };
  for (const role of ['', 'a\x1b[31mb\n', 'x'.repeat(10_000), '\u202e\u{1f600}']) {
    const {error} = await register(role);
    assert.equal(error.code, grpc.status.PERMISSION_DENIED);
    short(error);
    for (const method of [single, list]) {
      const status = await bench.listen(method, {role: 'CCAgent', clientId: role}).end;
      assert.equal(status.code, grpc.status.NOT_FOUND);
      short(status);
      const other = await bench.listen(method, {role, clientId: follower.id}).end;
      assert.equal(other.code, grpc.status.PERMISSION_DENIED);
      short(other);
    }
  }
  // A role that is not UTF-8; two byte strings that are not a message; one that is too long.
  const junk = [Buffer.from('0a02fffe', 'hex'), Buffer.alloc(100, 0xff),
                Buffer.from('0affffffff0f', 'hex'), Buffer.alloc(100_000, 0x0a)];
  for (const bytes of junk) {
    const {error} = await bench.call('job.Job/Register', bytes);
    assert.equal(error.code, grpc.status.INVALID_ARGUMENT);
    short(error);
    for (const method of [single, list]) {
      const status = await bench.listen(method, bytes).end;
      assert.equal(status.code, grpc.status.INVALID_ARGUMENT);
      short(status);
    }
  }
  assert.equal(coordinator.exitCode, null);
  bench.apply('after-junk', {'j-a': [0]});
  await follower.hears('after-junk', 'add running');
  follower.close();
});
