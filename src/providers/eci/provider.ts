import type { Clock } from '../../base/clock.ts';
import { Emitter } from '../../base/emitter.ts';
import { AgentError } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import { type Random, systemRandom } from '../../base/random.ts';
import { nameOf, namespaceOf, uidOf } from '../../kube/names.ts';
import type { Pod } from '../../kube/types.ts';
import type { BackendEvent, ObservedPod } from '../../provider/hooks.ts';
import type { LogOptions, LogSink } from '../../provider/logs.ts';
import type { ProviderAdmission, TerminalIo } from '../../provider/powers.ts';
import type { NodeProvider, PodProvider, PodSyncResult, SyncPodRequest } from '../../provider/provider.ts';
import type { ContainerRef, PodRef } from '../../provider/refs.ts';
import { emptyPodStatus, type RuntimePod, type RuntimePodStatus } from '../../provider/runtime-pod.ts';
import type { PodUsage } from '../../provider/usage.ts';
import { admitEciPod } from './admission.ts';
import type { EciApi } from './api.ts';
import { BuiltinEciApi } from './builtin-api.ts';
import type { EciContainerGroup } from './container-group.ts';
import { EciCalls, type CallCounts } from './calls.ts';
import { type ObservedGroup, podStatusOf, runtimePodOf } from './convert-status.ts';
import { Creator } from './creator.ts';
import type { EciCredentials } from './credentials.ts';
import { EventForwarder } from './events.ts';
import { EciExec } from './exec.ts';
import { GroupStore } from './group-store.ts';
import { Listings } from './listings.ts';
import { LogReader } from './logs.ts';
import { type EciNode, eciNode } from './node.ts';
import type { EciOwner } from './ownership.ts';
import { Poller } from './poller.ts';
import { Remover } from './remover.ts';
import { reportedGroup } from './reported-group.ts';
import { SdkEciApi } from './sdk-api.ts';
import type { EciSettings } from './settings.ts';
import { UsageReader } from './usage.ts';

/** What an {@link EciProvider} is made of: the account's settings, the node's name, and what the agent injects. */
export interface EciProviderOptions extends Omit<EciSettings, 'credentials'> {
  /** Credentials as a function, e.g. for tokens that expire; or give `accessKeyId` and `accessKeySecret`. */
  readonly credentials?: EciCredentials;
  readonly accessKeyId?: string;
  readonly accessKeySecret?: string;
  readonly securityToken?: string;
  /** Groups are tagged with it; those of other nodes are not touched. */
  readonly nodeName: string;
  readonly clock: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  /** Calls the service; default: the client that the settings name. */
  readonly api?: EciApi;
  /** What the built-in client sends requests with; default: Node's own. */
  readonly fetch?: typeof globalThis.fetch;
}

/**
 * EciProvider runs pods as container groups of Alibaba Cloud's Elastic Container Instance. It implements the whole provider contract: the
 * agent's own workers, status manager and clean-up do the rest.
 *
 * @example
 * const provider = new EciProvider({
 *   region: 'cn-hangzhou', accessKeyId, accessKeySecret, securityGroup: 'sg-1', vSwitch: 'vsw-1', nodeName: 'eci', clock: systemClock,
 * });
 * const node = await runNode({ nodeName: 'eci', provider }, signal);
 */
export class EciProvider implements PodProvider, NodeProvider {
  readonly name = 'eci';
  /** The service runs liveness and readiness probes; the agent could not reach the pods' network. */
  readonly probedBy = 'provider';
  /** Nothing is mounted on this machine; files travel with the request. */
  readonly volumesBy = 'provider';
  /** Labels, taint and capacity of the node. */
  readonly node: EciNode;
  readonly #calls: EciCalls;
  readonly #store: GroupStore;
  readonly #poller: Poller;
  readonly #creator: Creator;
  readonly #remover: Remover;
  readonly #logs: LogReader;
  readonly #exec: EciExec;
  readonly #usage: UsageReader;
  readonly #clock: Clock;
  readonly #region: string;
  readonly #listings = new WeakMap<EciContainerGroup, { readonly gone: boolean; readonly pod: RuntimePod }>();
  readonly #refusedUpdates = new Set<string>();
  readonly #events = new Emitter<{ status: [ObservedPod]; event: [BackendEvent] }>();

  constructor(options: EciProviderOptions) {
    const {
      clock,
      nodeName,
      clusterName = 'default',
      random = systemRandom,
      logger = silentLogger,
    } = options;
    const settings: EciSettings = { ...options, credentials: credentialsOf(options) };
    const owner: EciOwner = { clusterName, nodeName };
    const { region, callsPerSecond, pollIntervalMs: intervalMs = 5000 } = settings;
    const api = options.api ?? apiOf(settings, clock, options.fetch);
    const calls = new EciCalls({
      api,
      clock,
      random,
      ...(callsPerSecond !== undefined && { callsPerSecond }),
    });
    const store = new GroupStore(owner);
    const listings = new Listings({ calls, clock, region, owner });
    const forwarder = new EventForwarder(owner, clock.now());
    this.#poller = new Poller({
      store,
      listings,
      clock,
      logger,
      intervalMs,
      changed: (uids) => {
        this.#push(uids);
      },
      listed: (groups) => {
        for (const event of forwarder.newOf(groups)) this.#events.emit('event', event);
      },
      removeDouble: (groupId) => this.#remover.delete(groupId, new AbortController().signal),
    });
    this.#clock = clock;
    this.#region = region;
    this.#calls = calls;
    this.#store = store;
    this.#creator = new Creator({ calls, listings, store, clock, owner, settings });
    this.#remover = new Remover({ calls, listings, store, poller: this.#poller, clock, region, owner });
    this.#exec = new EciExec({ calls, clock, region });
    this.#usage = new UsageReader({ calls, clock, region });
    this.#logs = new LogReader({
      calls,
      clock,
      region,
      isRunning: ({ groupId, container }) => this.#runs(groupId, container),
    });
    this.node = eciNode(nodeName, settings);
  }

  /** How many calls of each action were made since the start. */
  get callCounts(): CallCounts {
    return this.#calls.counts;
  }

  async syncPod(request: SyncPodRequest, signal: AbortSignal): Promise<PodSyncResult> {
    const { pod } = request;
    await this.#poller.fresh(signal);
    const observed = this.#store.get(uidOf(pod));
    if (observed) {
      this.#reportUpdate(pod, observed.group);
      return { results: [], changed: false };
    }
    const reported = reportedGroup(pod);
    if (!reported) return this.#creator.create(request, signal);
    // an earlier agent reported containers of this pod: their group is not made again, it is gone if listings say so
    this.#store.expected(identityOfPod(pod), reported, this.#clock.now());
    return { results: [], changed: true };
  }

  async killPod(
    _pod: Pod | undefined,
    running: RuntimePod,
    _grace: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#poller.fresh(signal);
    await this.#remover.stop(running.uid, signal);
    this.#push([running.uid]);
  }

  async deletePod({ uid }: PodRef, _pod: Pod | undefined, signal: AbortSignal): Promise<void> {
    await this.#poller.fresh(signal);
    await this.#remover.remove(uid, signal);
    this.#creator.forget(uid);
    for (const key of this.#refusedUpdates) if (key.startsWith(`${uid}/`)) this.#refusedUpdates.delete(key);
  }

  async listPods(signal?: AbortSignal): Promise<readonly RuntimePod[]> {
    await this.#poller.fresh(signal);
    return this.#store.all().map((observed) => this.#listed(observed));
  }

  async getPodStatus(ref: PodRef, signal?: AbortSignal): Promise<RuntimePodStatus> {
    await this.#poller.fresh(signal);
    const observed = this.#store.get(ref.uid);
    return observed ? podStatusOf(observed) : emptyPodStatus(ref);
  }

  /** Resolves while the cloud answers and takes the credentials; otherwise the node is not ready (E21). */
  async ping(signal: AbortSignal): Promise<void> {
    await this.#poller.fresh(signal);
  }

  onPodStatus(listener: (observed: ObservedPod) => void): () => void {
    this.#poller.start();
    return this.#events.on('status', listener);
  }

  onBackendEvent(listener: (event: BackendEvent) => void): () => void {
    return this.#events.on('event', listener);
  }

  admit(pod: Pod): ProviderAdmission {
    return admitEciPod(pod);
  }

  async readLogs(
    container: ContainerRef,
    options: LogOptions,
    sink: LogSink,
    signal: AbortSignal,
  ): Promise<void> {
    const target = { groupId: this.#groupOf(container.podUid), container: container.container };
    await this.#logs.read(target, options, sink, signal);
  }

  async execSync(
    container: ContainerRef,
    command: readonly string[],
    timeoutMs: number,
  ): Promise<{ readonly exitCode: number; readonly stdout: Buffer; readonly stderr: Buffer }> {
    return this.#exec.runSync(
      { groupId: this.#groupOf(container.podUid), container: container.container },
      command,
      timeoutMs,
    );
  }

  async exec(
    container: ContainerRef,
    command: readonly string[],
    io: TerminalIo,
    signal: AbortSignal,
  ): Promise<number> {
    return this.#exec.run(
      { groupId: this.#groupOf(container.podUid), container: container.container },
      command,
      io,
      signal,
    );
  }

  async portForward(): Promise<void> {
    throw new AgentError(
      'unimplemented',
      'port forwarding is not supported by ECI: reach the pod by its address in the VPC',
    );
  }

  async attach(): Promise<void> {
    throw new AgentError('unimplemented', 'attach is not supported by ECI: use exec, or read the logs');
  }

  async listUsage(signal?: AbortSignal): Promise<readonly PodUsage[]> {
    await this.#poller.fresh(signal);
    const running = this.#store.all().filter(({ gone, group }) => !gone && group.Status === 'Running');
    return running.length === 0 ? [] : this.#usage.read(running, signal ?? new AbortController().signal);
  }

  /** Ends polling. Groups stay. */
  close(): void {
    this.#poller.close();
  }

  /** The pod as a listing shows it, made once for each state of its group. */
  #listed(observed: ObservedGroup): RuntimePod {
    const { group, gone } = observed;
    const listed = this.#listings.get(group);
    if (listed?.gone === gone) return listed.pod;
    const pod = runtimePodOf(observed);
    this.#listings.set(group, { gone, pod });
    return pod;
  }

  /** Groups keep the images that they were made with: a pod that asks for others gets one event for each image. */
  #reportUpdate(pod: Pod, { Containers = [] }: EciContainerGroup): void {
    for (const { name, image } of pod.spec?.containers ?? []) {
      const runs = Containers.find(({ Name }) => Name === name)?.Image;
      const key = `${uidOf(pod)}/${name}/${image ?? ''}`;
      if (runs === undefined || runs === image || this.#refusedUpdates.has(key)) continue;
      this.#refusedUpdates.add(key);
      const message = `container ${name} goes on with image ${runs}: a container group cannot be changed to ${image ?? ''}; delete the pod and create it anew`;
      this.#events.emit('event', {
        pod: identityOfPod(pod),
        type: 'Warning',
        reason: 'ECIUpdateNotSupported',
        message,
      });
    }
  }

  #groupOf(uid: string): string {
    const observed = this.#store.get(uid);
    if (observed && !observed.gone) return observed.group.ContainerGroupId;
    throw new AgentError('not_found', `the pod has no container group in region ${this.#region}`);
  }

  #runs(groupId: string, container: string): boolean {
    const observed = this.#store.all().find(({ group }) => group.ContainerGroupId === groupId);
    const state = observed?.group.Containers?.find(({ Name }) => Name === container)?.CurrentState?.State;
    return observed?.gone === false && state === 'Running';
  }

  #push(uids: readonly string[]): void {
    for (const uid of uids) {
      const observed = this.#store.get(uid);
      if (observed)
        this.#events.emit('status', { pod: this.#listed(observed), status: podStatusOf(observed) });
    }
  }
}

function credentialsOf({
  credentials,
  accessKeyId,
  accessKeySecret,
  securityToken,
}: EciProviderOptions): EciCredentials {
  if (credentials) return credentials;
  if (accessKeyId === undefined || accessKeySecret === undefined)
    throw new AgentError(
      'invalid_argument',
      'EciProvider: give accessKeyId and accessKeySecret, or credentials',
    );
  return { accessKeyId, accessKeySecret, ...(securityToken !== undefined && { securityToken }) };
}

function apiOf(settings: EciSettings, clock: Clock, fetch: typeof globalThis.fetch | undefined): EciApi {
  const { region, endpoint = `eci.${region}.aliyuncs.com`, credentials, signature, client } = settings;
  const shared = { endpoint, credentials, clock, ...(signature && { signature }) };
  return client === 'sdk'
    ? new SdkEciApi({ ...shared, region })
    : new BuiltinEciApi({ ...shared, ...(fetch && { fetch }) });
}

const identityOfPod = (pod: Pod): { uid: string; name: string; namespace: string } => ({
  uid: uidOf(pod),
  name: nameOf(pod),
  namespace: namespaceOf(pod),
});
