import { describe, expect, test } from 'vitest';
import type { Interceptor } from '../../../src/api/interceptor.ts';
import { intercept } from '../../../src/api/interceptor.ts';
import { ApiError } from '../../../src/api/client.ts';
import { leaseResource } from '../../../src/api/resources.ts';
import { FakeClock, settle } from '../../../src/base/fake-clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { systemRandom } from '../../../src/base/random.ts';
import {
  checkElection,
  type Election,
  LeaderElector,
} from '../../../src/api/leaderelection/leader-elector.ts';
import type { Lease } from '../../../src/kube/types.ts';
import { LocalApi } from '../../../src/conformance/node/local-api.ts';

const election = (more: Partial<Election> = {}): Election => ({
  id: 'web',
  namespace: 'default',
  leaseDuration: 15_000,
  renewDeadline: 10_000,
  retryPeriod: 2_000,
  releaseOnCancel: false,
  identity: 'a',
  ...more,
});
const down = new ApiError(0, { message: 'connection refused' });

function setUp() {
  // an hour after the epoch of the fake clock, so that a jump back stays positive
  const clock = new FakeClock(3_600_000);
  const api = new LocalApi(clock, systemRandom);
  const lease = (): Lease => api.get(leaseResource, { namespace: 'default', name: 'web' });
  const elector = (identity: string, interceptor: Interceptor = {}, more: Partial<Election> = {}) => {
    const events: string[] = [];
    const one = new LeaderElector(
      {
        client: intercept(api.client(), interceptor),
        clock,
        // no jitter
        random: { ...systemRandom, float: () => 0 },
        logger: silentLogger,
        onLeading: (leading) => void events.push(leading ? 'leads' : 'stopped'),
        onSlowPath: () => void events.push('slow path'),
        onNewLeader: (other) => void events.push(`leader ${other}`),
      },
      election({ identity, ...more }),
    );
    const stop = new AbortController();
    /** Acquires and holds; the outcome is noted. */
    const run = async (): Promise<void> => {
      try {
        await one.acquire(stop.signal);
        await one.hold(stop.signal);
        events.push('ended');
      } catch (reason) {
        events.push(stop.signal.aborted ? 'aborted' : (reason as Error).message);
      }
    };
    return { one, stop, events, run };
  };
  return { clock, api, lease, elector };
}

describe('leader election', () => {
  test('1 the first process makes the lease and leads', async () => {
    const { lease, elector } = setUp();
    const a = elector('a');
    void a.run();
    await settle();
    expect(a.events).toEqual(['leader a', 'leads']);
    expect(lease().spec).toEqual({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '1970-01-01T01:00:00.000000Z',
      renewTime: '1970-01-01T01:00:00.000000Z',
      leaseTransitions: 0,
    });
    a.stop.abort();
  });

  test('2 the leader renews, every retry period, and keeps the time of its acquisition', async () => {
    const { clock, lease, elector } = setUp();
    const a = elector('a');
    void a.run();
    await clock.advance(6_000);
    expect(lease().spec).toMatchObject({
      acquireTime: '1970-01-01T01:00:00.000000Z',
      renewTime: '1970-01-01T01:00:06.000000Z',
    });
    a.stop.abort();
  });

  test('3 a second process waits while the first renews', async () => {
    const { clock, elector } = setUp();
    const [a, b] = [elector('a'), elector('b')];
    void a.run();
    await settle();
    void b.run();
    await clock.advance(120_000);
    expect(b.events).toEqual(['leader a']);
    for (const one of [a, b]) one.stop.abort();
  });

  test('4 it takes over once the lease has not changed for its duration', async () => {
    const { clock, lease, elector } = setUp();
    const [a, b] = [elector('a'), elector('b')];
    void a.run();
    await settle();
    void b.run();
    await settle();
    a.stop.abort();
    await clock.advance(14_000);
    expect(b.events).not.toContain('leads');
    await clock.advance(2_000);
    expect(b.events).toEqual(['leader a', 'leader b', 'leads']);
    expect(lease().spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
    b.stop.abort();
  });

  test('5 released, it is taken over at the next attempt', async () => {
    const { clock, lease, elector } = setUp();
    const [a, b] = [elector('a'), elector('b')];
    void a.run();
    await settle();
    void b.run();
    await settle();
    a.stop.abort();
    await settle();
    await a.one.release();
    expect(lease().spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
    await clock.advance(2_000);
    expect(b.events).toContain('leads');
    b.stop.abort();
  });

  test('6 who does not lead releases nothing', async () => {
    const { lease, elector } = setUp();
    const [a, b] = [elector('a'), elector('b')];
    void a.run();
    await settle();
    void b.run();
    await settle();
    b.stop.abort();
    await b.one.release();
    expect(lease().spec?.holderIdentity).toBe('a');
    a.stop.abort();
  });

  test('7 a leader that cannot renew stops after it has tried for the renew deadline, before another may lead', async () => {
    const { clock, elector } = setUp();
    let isDown = false;
    const a = elector('a', {
      call: async (_, next) => {
        if (isDown) throw down;
        return await next();
      },
    });
    const b = elector('b');
    void a.run();
    await settle();
    void b.run();
    await settle();
    isDown = true;
    await clock.advance(11_999);
    expect(a.events).toEqual(['leader a', 'leads']);
    await clock.advance(2);
    expect(a.events).toEqual(['leader a', 'leads', 'stopped', 'leader election lost']);
    expect(b.events).not.toContain('leads');
    await clock.advance(6_000);
    expect(b.events).toContain('leads');
    b.stop.abort();
  });

  test('8 an outage that is shorter than the renew deadline does not matter', async () => {
    const { clock, elector } = setUp();
    let isDown = false;
    const a = elector('a', {
      call: async (_, next) => {
        if (isDown) throw down;
        return await next();
      },
    });
    void a.run();
    await settle();
    isDown = true;
    await clock.advance(8_000);
    isDown = false;
    await clock.advance(60_000);
    expect(a.events).toEqual(['leader a', 'leads']);
    a.stop.abort();
  });

  test('9 a leader whose lease another process has taken stops at its next attempt', async () => {
    const { clock, api, elector } = setUp();
    const a = elector('a');
    void a.run();
    await settle();
    api.change({ resource: leaseResource, ref: { namespace: 'default', name: 'web' } }, (old) => ({
      ...old,
      spec: { ...(old['spec'] as object), holderIdentity: 'thief' },
    }));
    await clock.advance(2_000);
    expect(a.events).toEqual([
      'leader a',
      'leads',
      'slow path',
      'leader thief',
      'stopped',
      'leader election lost',
    ]);
  });

  test('10 a leader whose lease was touched reads it and goes on', async () => {
    const { clock, api, elector } = setUp();
    const a = elector('a');
    void a.run();
    await settle();
    api.change({ resource: leaseResource, ref: { namespace: 'default', name: 'web' } }, (old) => ({
      ...old,
      metadata: { ...(old['metadata'] as object), labels: { touched: 'yes' } },
    }));
    await clock.advance(2_000);
    expect(a.events).toEqual(['leader a', 'leads', 'slow path']);
    a.stop.abort();
  });

  test('11 a leader whose lease was deleted makes it again', async () => {
    const { clock, api, lease, elector } = setUp();
    const a = elector('a');
    void a.run();
    await settle();
    api.delete(leaseResource, { namespace: 'default', name: 'web' }, {});
    await clock.advance(2_000);
    expect(lease().spec?.holderIdentity).toBe('a');
    expect(a.events).not.toContain('stopped');
    a.stop.abort();
  });

  test('12 a jump of the wall clock, forward or back, changes nothing', async () => {
    const { clock, elector } = setUp();
    const [a, b] = [elector('a'), elector('b')];
    void a.run();
    await settle();
    void b.run();
    await clock.advance(4_000);
    clock.jump(86_400_000);
    await clock.advance(30_000);
    clock.jump(-2 * 86_400_000 + 90_000_000);
    await clock.advance(30_000);
    expect([a.events, b.events]).toEqual([['leader a', 'leads'], ['leader a']]);
    for (const one of [a, b]) one.stop.abort();
  });

  test('13 a leader that was suspended sees that its time is over before it calls the API', async () => {
    const { clock, elector } = setUp();
    let calls = 0;
    const a = elector('a', { call: (_, next) => (calls++, next()) });
    void a.run();
    await settle();
    const before = calls;
    // the machine sleeps: the time passes, and no timer fires in between
    clock.set(clock.now() + 60_000);
    await clock.advance(0);
    expect(a.events.at(-1)).toBe('leader election lost');
    expect(calls).toBe(before);
  });

  test('14 a call that never returns costs no more than the renew deadline', async () => {
    const { clock, elector } = setUp();
    let stuck = false;
    const a = elector('a', {
      call: (_, next) => (stuck ? clock.sleep(3_600_000) : next()),
    });
    void a.run();
    await settle();
    stuck = true;
    await clock.advance(12_001);
    expect(a.events.at(-1)).toBe('leader election lost');
  });

  test('15 of two that start at once one leads', async () => {
    const { clock, elector } = setUp();
    const all = ['a', 'b', 'c'].map((name) => elector(name));
    for (const one of all) void one.run();
    await clock.advance(60_000);
    expect(all.filter(({ events }) => events.includes('leads'))).toHaveLength(1);
    for (const { stop } of all) stop.abort();
  });

  test('16 a stop while it waits to lead ends the wait', async () => {
    const { elector } = setUp();
    const [a, b] = [elector('a'), elector('b')];
    void a.run();
    await settle();
    const waiting = b.run();
    await settle();
    b.stop.abort();
    await waiting;
    expect(b.events).toEqual(['leader a', 'aborted']);
    a.stop.abort();
  });

  test.each([
    [{ id: '' }, 'id is required'],
    [{ namespace: '' }, 'unable to find leader election namespace'],
    [{ leaseDuration: 10_000 }, 'leaseDuration (10000 ms) must be greater than renewDeadline (10000 ms)'],
    [{ renewDeadline: 2_400 }, 'renewDeadline (2400 ms) must be greater than retryPeriod × 1.2'],
    [{ leaseDuration: 900, renewDeadline: 500, retryPeriod: 100 }, 'leaseDuration must be at least 1,000 ms'],
    [{ retryPeriod: 0 }, 'retryPeriod must be greater than 0'],
  ])('17.%# times that do not fit are refused: %j', (more, message) => {
    expect(() => {
      checkElection(election(more));
    }).toThrow(`leaderElection: ${message}`);
  });
});
