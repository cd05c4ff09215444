/**
 * One measurement of the API bench, in a separate process so that memory and CPU are its own:
 * `node api-case.ts ours|client-node list|watch|patch SERVER EVENTS`. Prints one line of JSON.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const [who, what, server = '', amount = '0'] = process.argv.slice(2);
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const target = Number(amount);
const parallel = 32;

interface Subject {
  /** Lists into a cache and keeps it; resolves when synced. `changed` is called for each event. */
  mirror(changed: () => void): Promise<unknown>;
  patch(at: number): Promise<unknown>;
}

async function ours(): Promise<Subject> {
  const { createApiClient } = await import('../../src/api/rest/http-client.ts');
  const { Informer } = await import('../../src/api/cache/informer.ts');
  const { podResource } = await import('../../src/api/resources.ts');
  const { systemClock } = await import('../../src/base/clock.ts');
  const client = createApiClient(
    { server, skipTlsVerify: true },
    { clock: systemClock, qps: 0, http2: who === 'ours-h2' },
  );
  return {
    mirror: async (changed) => {
      const informer = new Informer({ client, clock: systemClock }, podResource, { streamingList: false });
      informer.addHandler({ updated: changed });
      void informer.run(new AbortController().signal);
      await informer.waitSynced();
      return informer;
    },
    patch: (at) =>
      client.patch(
        podResource,
        { namespace: 'default', name: `pod-${at}` },
        { type: 'strategic', body: status(at) },
        { subresource: 'status' },
      ),
  };
}

async function clientNode(): Promise<Subject> {
  const k8s = await import('@kubernetes/client-node');
  const config = new k8s.KubeConfig();
  config.loadFromClusterAndUser({ name: 'c', server, skipTLSVerify: true }, { name: 'u' });
  const api = config.makeApiClient(k8s.CoreV1Api);
  return {
    mirror: async (changed) => {
      const informer = k8s.makeInformer(config, '/api/v1/pods', () => api.listPodForAllNamespaces());
      informer.on('update', changed);
      await informer.start();
      return informer;
    },
    patch: (at) =>
      api.patchNamespacedPodStatus(
        { namespace: 'default', name: `pod-${at}`, body: status(at) },
        k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.StrategicMergePatch),
      ),
  };
}

const status = (at: number): object => ({ status: { phase: 'Running', message: `patch ${at}` } });

async function measured(
  work: () => Promise<unknown>,
): Promise<{ ms: number; cpuMs: number; retainedMiB: number; rssMiB: number }> {
  collect();
  const before = process.memoryUsage().heapUsed;
  const [from, cpu] = [performance.now(), process.cpuUsage()];
  const retained = await work();
  const used = process.cpuUsage(cpu);
  const ms = performance.now() - from;
  collect();
  const { heapUsed, rss } = process.memoryUsage();
  if (retained === null) throw new Error('nothing was kept');
  return {
    ms,
    cpuMs: (used.user + used.system) / 1000,
    retainedMiB: (heapUsed - before) / 2 ** 20,
    rssMiB: rss / 2 ** 20,
  };
}

const subject = who?.startsWith('ours') === true ? await ours() : await clientNode();
if (what === 'patch') for (let i = 0; i < 50; i++) await subject.patch(i);
const result = await measured(async () => {
  if (what === 'list') return await subject.mirror(() => undefined);
  if (what === 'watch') {
    let seen = 0;
    const all = Promise.withResolvers<undefined>();
    const mirror = await subject.mirror(() => {
      if (++seen === target) all.resolve(undefined);
    });
    await all.promise;
    return mirror;
  }
  let next = 0;
  const loop = async (): Promise<void> => {
    while (next < target) await subject.patch(next++);
  };
  await Promise.all(Array.from({ length: parallel }, loop));
  return undefined;
});
console.log(JSON.stringify(result));
process.exit(0);
