import { Agent } from '../agent/agent.ts';
import { createApiClient } from '../api/rest/http-client.ts';
import type { RawEvent } from '../api/events/event-correlator.ts';
import { systemClock } from '../base/clock.ts';
import { Emitter } from '../base/emitter.ts';
import type { Event } from '../kube/types.ts';
import { certDirOf, effectiveOptions, kubeletApiOptions, openPorts, logWarnings } from './agent-settings.ts';
import { agentOptions, keepSystemdNotified, makeLogger, runningParts, systemdService } from './compose.ts';
import { type DataDir, openDataDir } from './data-dir.ts';
import { checkMachine, thisMachine } from './machine.ts';
import { type Reach, reachOf } from './reach.ts';
import type { RunOptions, Running, StartContext } from './running.ts';
import { startTracing } from './tracing.ts';

const clock = systemClock;

/** Joins a cluster as a node, for `podtender run`. Containers keep running when it ends, as with the kubelet. */
export async function startRun(options: RunOptions, context: StartContext): Promise<Running> {
  const settings = effectiveOptions(options);
  const dataDir = openDataDir(options.dataDir);
  const stop = new AbortController();
  const giveUp = (): void => {
    stop.abort(context.signal.reason);
  };
  context.signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await join({ options, settings, dataDir, context, stop });
  } catch (reason) {
    stop.abort();
    dataDir.release();
    throw reason;
  } finally {
    context.signal.removeEventListener('abort', giveUp);
  }
}

interface RunParts {
  readonly options: RunOptions;
  readonly settings: ReturnType<typeof effectiveOptions>;
  readonly dataDir: DataDir;
  readonly context: StartContext;
  /** Aborts everything that this run has started. */
  readonly stop: AbortController;
}

async function join(parts: RunParts): Promise<Running> {
  const { options, settings, dataDir, context, stop } = parts;
  const logger = makeLogger(settings, context.logTo);
  logWarnings(settings, logger);
  if (options.provider === 'cri') checkMachine(settings, thisMachine(), logger);
  const systemd = systemdService(logger);
  const certDir = certDirOf(settings, dataDir.path);
  const { nodeName } = settings.agent;
  const reach = await reachOf(options, settings, { certDir, dataDir: dataDir.path, logger });
  const keeping = reach.keep(stop.signal);
  const { server } = reach.connection;
  context.progress(`joining the cluster at ${server} as node ${nodeName}, provider ${options.provider}`);
  await certificateOf(reach, parts);
  const { kubeAPIQPS: qps, kubeAPIBurst: burst } = settings.kubelet;
  const tracing = await startTracing(settings.kubelet.tracing, { nodeName, clock, logger });
  const traced = tracing && { tracer: tracing.tracer };
  const client = createApiClient(reach.connection, { clock, logger, qps, burst, ...traced });
  const kubeletApi = kubeletApiOptions(settings, { certDir, nodeName, now: clock.now(), logger });
  const events = new Emitter<{ event: [event: Event] }>();
  const { disconnect, ...own } = await agentOptions({
    ...parts,
    load: context.load,
    tracing,
    logger,
    onEvent: (event) => {
      events.emit('event', eventOf(event));
    },
  });
  const agent = await Agent.create({
    ...own,
    ...openPorts(settings),
    client,
    logger,
    ...(kubeletApi && { kubeletApi }),
    ...(reach.metrics && { moreMetrics: reach.metrics }),
  });
  stop.signal.throwIfAborted();
  const running = runningParts(agent, { ...parts, logger }, { signal: stop.signal, apiPort: '--port' });
  logger.info('agent runs', { node: nodeName, server, provider: options.provider });
  keepSystemdNotified(systemd, agent, stop.signal);
  const kubeconfigPath = options.kubeconfig ?? settings.agent.kubeconfig;
  return {
    ...running,
    ...(kubeconfigPath !== undefined && { kubeconfigPath }),
    serverUrl: server,
    watchEvents: (listener) => events.on('event', listener),
    stopPods: () => Promise.resolve(), // they keep running
    close: async () => {
      stop.abort();
      await Promise.all([agent.stop(), keeping]);
      await Promise.all([client.close(), disconnect()]);
      await tracing?.stop();
      dataDir.release();
    },
  };
}

/** Requests the client certificate when there are bootstrap credentials; an administrator may have to approve it. */
async function certificateOf({ ready }: Reach, { context, stop }: RunParts): Promise<void> {
  if (!ready) return;
  context.progress(
    'requesting a client certificate; unless it is approved automatically: kubectl get csr, kubectl certificate approve NAME',
  );
  await ready(stop.signal);
  stop.signal.throwIfAborted();
}

/** Returns an Event as the API server would store it. */
function eventOf({ object, type, reason, message, fieldPath }: RawEvent): Event {
  const { kind = '', metadata: { namespace = '', name = '', uid = '' } = {} } = object;
  return {
    metadata: {},
    involvedObject: { kind, namespace, name, uid, ...(fieldPath !== '' && { fieldPath }) },
    type,
    reason,
    message,
  };
}
