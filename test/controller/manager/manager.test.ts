import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, fetch } from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import { intercept } from '../../../src/api/interceptor.ts';
import { createApiClient } from '../../../src/api/rest/http-client.ts';
import { systemClock } from '../../../src/base/clock.ts';
import {
  controllerManagedBy,
  kinds,
  Manager,
  type ManagerOptions,
  type Runnable,
} from '../../../src/controller/index.ts';
import { selfSigned } from '../../../src/pki/self-signed.ts';
import { configMap, connectionTo, servedName } from '../support.ts';
import { endAll, eventually, managerOf, server } from './bench-manager.ts';

afterEach(endAll);

const untilAbort = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => {
      resolve();
    });
  });

/** A part that notes when it starts and ends. */
const noting = (name: string, events: string[], more: Partial<Runnable> = {}): Runnable => ({
  start: async (signal) => {
    events.push(`+${name}`);
    await untilAbort(signal);
    events.push(`-${name}`);
  },
  ...more,
});

const insecure = new Agent({ connect: { rejectUnauthorized: false } });
const get = async (
  address: { readonly port: number } | undefined,
  path: string,
  { scheme = 'http', token }: { readonly scheme?: string; readonly token?: string } = {},
): Promise<{ status: number; text: string }> => {
  const response = await fetch(`${scheme}://127.0.0.1:${address?.port ?? 0}${path}`, {
    dispatcher: insecure,
    ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
  });
  return { status: response.status, text: await response.text() };
};

describe('manager: start and stop', () => {
  test('1 without leader election it is elected at once; parts start in order and stop in reverse', async () => {
    const events: string[] = [];
    const { manager, start, stop } = managerOf(await server());
    manager.add(noting('leads', events));
    manager.add(noting('other', events, { needLeaderElection: false }));
    const ended = start();
    await manager.elected;
    await eventually(() => events.length === 2);
    stop.abort();
    await ended;
    expect(events).toEqual(['+other', '+leads', '-leads', '-other']);
  });

  test('2 a part that is added later starts at once', async () => {
    const events: string[] = [];
    const { manager, start } = managerOf(await server());
    void start();
    await manager.elected;
    manager.add(noting('late', events));
    await eventually(() => events.length === 1);
  });

  test('3 a part that fails stops the others, and the start rejects with its error', async () => {
    const events: string[] = [];
    const { manager, start } = managerOf(await server());
    manager.add(noting('other', events));
    manager.add({
      start: async () => {
        await eventually(() => events.length === 1);
        throw new Error('expected error');
      },
    });
    await expect(start()).rejects.toThrow('expected error');
    expect(events).toEqual(['+other', '-other']);
  });

  test('4 a part that ends by itself ends nothing else', async () => {
    const events: string[] = [];
    const { manager, start, stop } = managerOf(await server());
    manager.add({ start: async () => void events.push('done') });
    manager.add(noting('other', events));
    const ended = start();
    await eventually(() => events.length === 2);
    stop.abort();
    await ended;
    expect(events).toContain('-other');
  });

  test('5 the abort as an error is none', async () => {
    const { manager, start, stop } = managerOf(await server());
    manager.add({
      start: async (signal) => {
        await untilAbort(signal);
        signal.throwIfAborted();
      },
    });
    const ended = start();
    await manager.elected;
    stop.abort();
    await ended;
  });

  test('6 a stop waits for the parts up to the graceful time-out, and says so', async () => {
    const { manager, start, stop } = managerOf(await server(), { gracefulShutdownTimeout: 50 });
    manager.add({ start: () => new Promise(() => undefined) });
    const ended = start();
    await manager.elected;
    stop.abort();
    await expect(ended).rejects.toThrow(
      'failed waiting for all runnables to end within grace period of 50 ms',
    );
  });

  test('7 with 0 it waits for nothing', async () => {
    const { manager, start, stop } = managerOf(await server(), { gracefulShutdownTimeout: 0 });
    manager.add({ start: () => new Promise(() => undefined) });
    const ended = start();
    await manager.elected;
    stop.abort();
    await ended;
  });

  test('8 with a negative one it waits as long as it takes', async () => {
    let stopped = false;
    const { manager, start, stop } = managerOf(await server(), { gracefulShutdownTimeout: -1 });
    manager.add({
      start: async (signal) => {
        await untilAbort(signal);
        await systemClock.sleep(100);
        stopped = true;
      },
    });
    const ended = start();
    await manager.elected;
    stop.abort();
    await ended;
    expect(stopped).toBe(true);
  });

  test('9 both the failure of a part and that of the stop are reported', async () => {
    const { manager, start } = managerOf(await server(), { gracefulShutdownTimeout: 20 });
    manager.add({ start: () => new Promise(() => undefined) });
    manager.add({ start: () => Promise.reject(new Error('expected error')) });
    await expect(start()).rejects.toThrow(/expected error; failed waiting/);
  });

  test('10 a stop waits for running reconciles', async () => {
    const { manager, start, stop } = managerOf(await server());
    let state = '';
    controllerManagedBy(manager)
      .for(kinds.ConfigMap)
      .complete(async () => {
        if (state !== '') return;
        state = 'running';
        await systemClock.sleep(150);
        state = 'done';
      });
    const ended = start();
    await manager.elected;
    await manager.client.create(kinds.ConfigMap, configMap('a'));
    await eventually(() => state === 'running');
    stop.abort();
    await ended;
    expect(state).toBe('done');
  });

  test('11 it starts once, and accepts nothing while it stops', async () => {
    const { manager, start, stop } = managerOf(await server());
    const ended = start();
    await manager.elected;
    await expect(manager.start(stop.signal)).rejects.toThrow('manager already started');
    stop.abort();
    await ended;
    expect(() => {
      manager.add(noting('late', []));
    }).toThrow("can't accept new runnable as stop procedure is already engaged");
  });

  test('12 a stop during the start ends it', async () => {
    const { manager, start, stop } = managerOf(await server());
    manager.add({ start: async () => undefined });
    const ended = start();
    stop.abort();
    await ended;
  });

  test('13 a controller with a source that cannot sync fails the manager', async () => {
    const { manager, start } = managerOf(await server(), { controller: { cacheSyncTimeout: 50 } });
    controllerManagedBy(manager)
      .named('stuck')
      .watchesRawSource({
        start: () => undefined,
        waitForSync: () => new Promise(() => undefined),
        toString: () => 'stuck source',
      })
      .complete(async () => undefined);
    await expect(start()).rejects.toThrow(
      'failed to wait for stuck caches to sync stuck source: timed out after 50 ms',
    );
  });

  test('14 without a connection there is no manager', () => {
    expect(() => new Manager({} as ManagerOptions)).toThrow(
      'connection: an ApiConnection or an ApiClient is required',
    );
  });

  test('15 Events are written before the end', async () => {
    const { manager, start, stop } = managerOf(await server());
    const ended = start();
    await manager.elected;
    const object = await manager.client.create(kinds.ConfigMap, configMap('a'));
    expect(manager.eventRecorderFor('me')).toBe(manager.eventRecorderFor('me'));
    manager.eventRecorderFor('me').event(object, 'Normal', 'Tested', 'it works');
    const { apiReader } = manager;
    await eventually(
      () => apiReader.list(kinds.Event),
      (events) => events.some(({ reason }) => reason === 'Tested'),
    );
    stop.abort();
    await ended;
  });
});

describe('manager: leader election', () => {
  const times = { leaseDuration: 1500, renewDeadline: 1000, retryPeriod: 100 };
  const leaderElection = { id: 'web', namespace: 'default', releaseOnCancel: true, ...times };

  test('1 of two managers one works; when it stops it releases the lease, and the other takes over', async () => {
    const api = await server();
    const events: string[] = [];
    const [a, b] = ['a', 'b'].map((name) => {
      const one = managerOf(api, { leaderElection });
      one.manager.add(noting(name, events));
      one.manager.add(noting(`always ${name}`, events, { needLeaderElection: false }));
      return one;
    });
    const ended = a?.start();
    await a?.manager.elected;
    void b?.start();
    await eventually(() => events.includes('+always b'));
    expect(events).not.toContain('+b');
    a?.stop.abort();
    await ended;
    await b?.manager.elected;
    await eventually(() => events.includes('+b'));
    expect(events.indexOf('-a')).toBeLessThan(events.indexOf('+b'));
  });

  test('2 lost leadership aborts what needs it and rejects', async () => {
    const api = await server();
    let down = false;
    const client = intercept(createApiClient(connectionTo(api), { clock: systemClock }), {
      call: async ({ resource }, next) => {
        if (down && resource.resource === 'leases') throw new Error('unreachable');
        return await next();
      },
    });
    const { manager, start } = managerOf(api, { connection: client, leaderElection });
    const events: string[] = [];
    manager.add(noting('leads', events));
    const ended = start();
    await manager.elected;
    await eventually(() => events.length === 1);
    down = true;
    await expect(ended).rejects.toThrow('leader election lost');
    expect(events).toEqual(['+leads', '-leads']);
  });

  test('3 sources of a controller with enableWarmup start before this process leads', async () => {
    const api = await server();
    const leader = managerOf(api, { leaderElection });
    void leader.start();
    await leader.manager.elected;
    const { manager, start } = managerOf(api, { leaderElection });
    let started = false;
    let reconciles = 0;
    controllerManagedBy(manager)
      .named('warm')
      .watchesRawSource({
        start: (_, queue) => {
          started = true;
          queue.add({ namespace: '', name: 'a' });
        },
        toString: () => 's',
      })
      .withOptions({ enableWarmup: true })
      .complete(async () => {
        reconciles++;
      });
    void start();
    await eventually(() => started);
    expect(reconciles).toBe(0);
    leader.stop.abort();
    await eventually(() => reconciles === 1);
  });

  test('4 without a namespace there is no leader election', async () => {
    const api = await server();
    expect(() => managerOf(api, { leaderElection: { id: 'web' } })).toThrow(
      'unable to find leader election namespace',
    );
  });
});

describe('manager: health', () => {
  test('1 /healthz and /readyz answer for their checks', async () => {
    const { manager, start } = managerOf(await server(), { healthProbeBindAddress: '127.0.0.1:0' });
    let ready = false;
    manager.addHealthzCheck('alive', () => undefined);
    manager.addReadyzCheck('ready', async () => {
      if (!ready) throw new Error('not yet');
    });
    void start();
    const address = await eventually(() => manager.healthProbeAddress);
    expect(await get(address, '/healthz')).toEqual({ status: 200, text: 'ok' });
    expect(await get(address, '/healthz?verbose')).toEqual({
      status: 200,
      text: '[+]alive ok\nhealthz check passed\n',
    });
    expect(await get(address, '/healthz/')).toEqual({ status: 200, text: 'ok' });
    expect(await get(address, '/readyz')).toEqual({
      status: 500,
      text: '[-]ready failed: reason withheld\nreadyz check failed\n',
    });
    expect(await get(address, '/readyz/ready')).toEqual({
      status: 500,
      text: 'internal server error: not yet\n',
    });
    ready = true;
    expect(await get(address, '/readyz')).toEqual({ status: 200, text: 'ok' });
    expect(await get(address, '/readyz/other')).toMatchObject({ status: 404 });
    expect(await get(address, '/other')).toMatchObject({ status: 404 });
    expect(() => {
      manager.addHealthzCheck('late', () => undefined);
    }).toThrow('endpoint has already been created');
  });

  test('2 an address in use, and one that is none, are refused', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await eventually(() => taken.listening);
    const { port } = taken.address() as AddressInfo;
    const { start } = managerOf(await server(), { healthProbeBindAddress: `127.0.0.1:${port}` });
    await expect(start()).rejects.toThrow(`health probe: cannot listen on 127.0.0.1:${port}`);
    taken.close();
    expect(() => new Manager({ connection: { server: 'http://x' }, healthProbeBindAddress: '8081' })).toThrow(
      'healthProbeBindAddress: "8081" is no bind address; use host:port, :port, or 0 for none',
    );
  });

  test('3 the endpoints are closed after the stop', async () => {
    const { manager, start, stop } = managerOf(await server(), { healthProbeBindAddress: '127.0.0.1:0' });
    const ended = start();
    const address = await eventually(() => manager.healthProbeAddress);
    stop.abort();
    await ended;
    await expect(get(address, '/healthz')).rejects.toThrow();
  });
});

describe('manager: metrics', () => {
  test('1 /metrics has the metrics of controllers, queues, client and process, and own ones', async () => {
    const { manager, start } = managerOf(await server(), { metrics: { bindAddress: '127.0.0.1:0' } });
    manager.metrics.register({
      collect: () => ({ name: 'my_total', type: 'counter', help: 'mine', samples: [{ value: 3 }] }),
    });
    manager.addMetricsHandler('/debug', (_, response) => void response.end('extra'));
    expect(() => {
      manager.addMetricsHandler('/metrics', () => undefined);
    }).toThrow('overriding builtin /metrics endpoint is not allowed');
    expect(() => {
      manager.addMetricsHandler('/debug', () => undefined);
    }).toThrow("can't register extra handler by duplicate path /debug");
    controllerManagedBy(manager)
      .for(kinds.ConfigMap)
      .complete(async () => undefined);
    void start();
    await manager.elected;
    await manager.client.create(kinds.ConfigMap, configMap('a'));
    const address = manager.metricsAddress;
    const { text } = await eventually(
      () => get(address, '/metrics'),
      (page) => /result="success"} [1-9]/.test(page.text),
    );
    for (const line of [
      'controller_runtime_max_concurrent_reconciles{controller="configmap"} 1',
      'workqueue_depth{name="configmap",controller="configmap",priority="0"} 0',
      'my_total 3',
      '# TYPE controller_runtime_reconcile_time_seconds histogram',
      '# TYPE process_resident_memory_bytes gauge',
    ])
      expect(text).toContain(`${line}\n`);
    expect(text).toMatch(
      /rest_client_requests_total\{code="201",method="POST",host="127\.0\.0\.1:\d+"\} 1\n/,
    );
    for (const family of ['request_duration_seconds', 'request_size_bytes', 'response_size_bytes'])
      expect(text).toMatch(
        new RegExp(`rest_client_${family}_count\\{verb="POST",host="127\\.0\\.0\\.1:\\d+"\\} 1\n`),
      );
    expect(await get(address, '/debug')).toEqual({ status: 200, text: 'extra' });
    expect(await get(address, '/other')).toMatchObject({ status: 404 });
  });

  test('2 secure serving has TLS with the certificate of certDir, and lets only permitted clients pass', async () => {
    const certDir = mkdtempSync(join(tmpdir(), 'podtender-metrics-'));
    const { cert, key } = selfSigned('localhost', systemClock.now());
    writeFileSync(join(certDir, 'tls.crt'), cert);
    writeFileSync(join(certDir, 'tls.key'), key);
    const asked: string[] = [];
    const api = await server();
    const client = intercept(createApiClient(connectionTo(api), { clock: systemClock }), {
      call: async (call, next) => {
        const { spec } = (call.body ?? {}) as { spec?: { token?: string; user?: string } };
        if (call.resource.resource === 'tokenreviews') {
          asked.push(`token ${spec?.token ?? ''}`);
          const known = spec?.token !== 'bad';
          return {
            status: {
              authenticated: known,
              ...(known && { user: { username: spec?.token, groups: ['g'] } }),
            },
          };
        }
        if (call.resource.resource !== 'subjectaccessreviews') return await next();
        asked.push(`access ${JSON.stringify(spec)}`);
        return { status: { allowed: spec?.user === 'prometheus' } };
      },
    });
    const { manager, start } = managerOf(api, {
      connection: client,
      metrics: { bindAddress: '127.0.0.1:0', secureServing: true, certDir, authentication: true },
    });
    void start();
    const address = await eventually(() => manager.metricsAddress);
    const page = (token?: string) =>
      get(address, '/metrics', { scheme: 'https', ...(token !== undefined && { token }) });
    expect((await page()).status).toBe(401);
    expect((await page('bad')).status).toBe(401);
    expect(await page('someone')).toEqual({ status: 403, text: 'Authorization denied for user someone\n' });
    expect((await page('prometheus')).status).toBe(200);
    expect((await page('prometheus')).text).toMatch(/certwatcher_read_certificate_total [1-9]/);
    expect(asked).toEqual([
      'token bad',
      'token someone',
      'access {"user":"someone","groups":["g"],"nonResourceAttributes":{"path":"/metrics","verb":"get"}}',
      'token prometheus',
      'access {"user":"prometheus","groups":["g"],"nonResourceAttributes":{"path":"/metrics","verb":"get"}}',
    ]);
    // the certificate of new connections is the one in the files
    const next = selfSigned('renewed', systemClock.now());
    writeFileSync(join(certDir, 'tls.key'), next.key);
    writeFileSync(join(certDir, 'tls.crt'), next.cert);
    expect(
      await eventually(
        () => servedName(address?.port ?? 0),
        (name) => name.startsWith('renewed@'),
      ),
    ).toMatch(/^renewed@/);
    rmSync(certDir, { recursive: true });
  });

  test('3 without certDir it makes a certificate; a certDir without files is refused', async () => {
    const api = await server();
    const { manager, start } = managerOf(api, {
      metrics: { bindAddress: '127.0.0.1:0', secureServing: true },
    });
    void start();
    const address = await eventually(() => manager.metricsAddress);
    expect((await get(address, '/metrics', { scheme: 'https' })).status).toBe(200);
    const other = managerOf(api, {
      metrics: { bindAddress: '127.0.0.1:0', secureServing: true, certDir: '/nowhere' },
    });
    await expect(other.start()).rejects.toThrow('certDir /nowhere: tls.crt and tls.key are required');
  });

  test('4 with 0 nothing is served', async () => {
    const { manager, start } = managerOf(await server(), {
      metrics: { bindAddress: '0' },
      healthProbeBindAddress: '0',
    });
    void start();
    await manager.elected;
    expect([manager.metricsAddress, manager.healthProbeAddress]).toEqual([undefined, undefined]);
  });

  test('5 leadership is shown', async () => {
    const { manager, start } = managerOf(await server(), {
      metrics: { bindAddress: '127.0.0.1:0' },
      leaderElection: { id: 'web', namespace: 'default' },
    });
    void start();
    await manager.elected;
    const { text } = await get(manager.metricsAddress, '/metrics');
    expect(text).toContain('leader_election_master_status{name="web"} 1\n');
  });
});
