/**
 * A controller of config maps in a process of its own, for the bench: podtender's, client-node's informer with a queue written by hand, or
 * an operator of `@dot-i/k8s-operator`; or the floor of all of them, a watch over TLS whose lines are parsed. Prints the CPU time and the memory once the first list is reconciled, and again when a number of
 * updates is.
 *
 * `node controller-peer.ts podtender|client-node|floor|k8s-operator KUBECONFIG [AMOUNT [MODULE]]`
 */
import { createRequire } from 'node:module';
import type { V1ConfigMap } from '@kubernetes/client-node';
import type * as controllerModule from '../../src/controller/index.ts';
import { built } from './processes.ts';

const [peer = 'podtender', kubeconfig = '', amount = '10000', module = ''] = process.argv.slice(2);
const target = Number(amount);

let reconciled = 0;
let since = process.cpuUsage();
/** Counts a reconcile. Each phase ends with the last of its reconciles. */
function count(): void {
  reconciled++;
  if (reconciled % target !== 0) return;
  const { user, system } = process.cpuUsage(since);
  const { rss } = process.memoryUsage();
  process.stdout.write(`${JSON.stringify({ cpuMs: (user + system) / 1000, rss })}\n`);
  since = process.cpuUsage();
}

async function podtender(): Promise<void> {
  const { controllerManagedBy, kinds, loadConnection, Manager } = (await import(
    built('controller/index.js')
  )) as typeof controllerModule;
  const manager = new Manager({ connection: await loadConnection(kubeconfig) });
  controllerManagedBy(manager)
    .for(kinds.ConfigMap)
    .complete(async ({ namespace, name }) => {
      if (!name.startsWith('bench-')) return;
      await manager.client.get(kinds.ConfigMap, { namespace, name });
      count();
    });
  since = process.cpuUsage();
  await manager.start(new AbortController().signal);
}

/** What an operator on client-node writes: a set of keys, a loop that takes the first, and the informer's own cache. */
async function clientNode(): Promise<void> {
  const { CoreV1Api, KubeConfig, makeInformer } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const api = config.makeApiClient(CoreV1Api);
  const informer = makeInformer<V1ConfigMap>(config, '/api/v1/namespaces/default/configmaps', () =>
    api.listNamespacedConfigMap({ namespace: 'default' }),
  );
  const queue = new Set<string>();
  let running = false;
  const work = async (): Promise<void> => {
    if (running) return;
    running = true;
    for (const name of queue) {
      queue.delete(name);
      if (informer.get(name, 'default')) count();
      await Promise.resolve();
    }
    running = false;
  };
  const add = (map: V1ConfigMap): void => {
    if (!map.metadata?.name?.startsWith('bench-')) return;
    queue.add(map.metadata.name);
    setImmediate(() => void work());
  };
  informer.on('add', add);
  informer.on('update', add);
  since = process.cpuUsage();
  await informer.start();
}

/** Reads a watch that begins with all objects, and parses each line: what no controller in Node.js can do without. */
async function floor(): Promise<void> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const { Agent, request } = await import('node:https');
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const read = (data: string | undefined): Buffer => Buffer.from(data ?? '', 'base64');
  const { server, caData } = config.getCurrentCluster() ?? {};
  const { certData, keyData } = config.getCurrentUser() ?? {};
  const agent = new Agent({ ca: read(caData), cert: read(certData), key: read(keyData) });
  const path =
    '/api/v1/namespaces/default/configmaps?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
  since = process.cpuUsage();
  request(`${server ?? ''}${path}`, { agent }, (response) => {
    let rest = '';
    response.setEncoding('utf8').on('data', (part: string) => {
      const lines = (rest + part).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const { type, object } = JSON.parse(line) as { type: string; object: V1ConfigMap };
        if (type !== 'BOOKMARK' && object.metadata?.name?.startsWith('bench-')) count();
      }
    });
  }).end();
}

/** The parts of `@dot-i/k8s-operator` that are used here. */
interface OperatorModule {
  readonly default: new () => {
    init(): Promise<void>;
    start(): Promise<void>;
    watchResource(
      group: string,
      version: string,
      plural: string,
      onEvent: (event: { readonly meta: { readonly name: string } }) => Promise<void>,
      namespace: string,
    ): Promise<void>;
  };
}

/** The operator has no cache: each event is passed with its object, one at a time and without a queue of keys. Reads KUBECONFIG. */
async function operator(): Promise<void> {
  const { default: Operator } = createRequire(`${module}/`)('@dot-i/k8s-operator') as OperatorModule;
  class Bench extends Operator {
    override init(): Promise<void> {
      const onEvent = ({ meta }: { readonly meta: { readonly name: string } }): Promise<void> => {
        if (meta.name.startsWith('bench-')) count();
        return Promise.resolve();
      };
      return this.watchResource('', 'v1', 'configmaps', onEvent, 'default');
    }
  }
  since = process.cpuUsage();
  await new Bench().start();
}

const peers: Readonly<Record<string, () => Promise<void>>> = {
  podtender,
  'client-node': clientNode,
  floor,
  'k8s-operator': operator,
};
await peers[peer]?.();
