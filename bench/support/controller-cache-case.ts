/**
 * One measurement of the cache bench, in a separate process so that memory and CPU are its own:
 * `node controller-cache-case.ts full|transformed|metadata-only|client-node SERVER`. Prints one line of JSON.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { kinds as builtIn, ObjectOf } from '../../src/controller/index.ts';

const [mode = 'full', server = ''] = process.argv.slice(2);
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

type Pod = ObjectOf<typeof builtIn.Pod>;

/** A cache of pods that is filled; resolves to what holds it and the number of objects. */
type Fill = () => Promise<{ readonly held: unknown; readonly objects: number }>;

async function ours(): Promise<Fill> {
  const { newCache, kinds } = await import('../../src/controller/index.ts');
  const metadataOnly = mode === 'metadata-only';
  const cache = newCache(
    { server, skipTlsVerify: true },
    mode === 'transformed'
      ? {
          byKind: [
            {
              kind: kinds.Pod,
              transform: ({ apiVersion = 'v1', kind = 'Pod', metadata = {}, spec, status }: Pod) => ({
                ...{ apiVersion, kind, metadata },
                spec: { nodeName: spec?.nodeName },
                status: { phase: status?.phase },
              }),
            },
          ],
        }
      : {},
  );
  return async () => {
    void cache.start(new AbortController().signal);
    const informer = await cache.getInformer(kinds.Pod, { metadataOnly });
    let objects = 0;
    informer.addEventHandler({ added: () => objects++, updated: () => undefined, deleted: () => undefined });
    return { held: cache, objects };
  };
}

async function clientNode(): Promise<Fill> {
  const k8s = await import('@kubernetes/client-node');
  const config = new k8s.KubeConfig();
  config.loadFromClusterAndUser({ name: 'c', server, skipTLSVerify: true }, { name: 'u' });
  const api = config.makeApiClient(k8s.CoreV1Api);
  return async () => {
    const informer = k8s.makeInformer(config, '/api/v1/pods', () => api.listPodForAllNamespaces());
    await informer.start();
    return { held: informer, objects: informer.list().length };
  };
}

const fill = mode === 'client-node' ? await clientNode() : await ours();
collect();
const before = process.memoryUsage().heapUsed;
const [from, cpu] = [performance.now(), process.cpuUsage()];
const { held, objects } = await fill();
const { user, system } = process.cpuUsage(cpu);
const ms = performance.now() - from;
collect();
const bytes = process.memoryUsage().heapUsed - before;
if (held === null) throw new Error('nothing was held');
console.log(JSON.stringify({ objects, bytes, ms, cpuMs: (user + system) / 1000 }));
process.exit(0);
