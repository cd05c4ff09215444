import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isNotFound } from '../api/client.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import type { EventRecorder } from '../kube/events.ts';
import { hostnameAndDomain } from '../kube/hostname.ts';
import { namespaceOf, uidOf } from '../kube/names.ts';
import type { ResourceList } from '../kube/resources.ts';
import type { ConfigMap, Container, KubeObject, Node, Pod, Secret, Service } from '../kube/types.ts';
import type { PodCgroupAccess, RunContainerOptions, RuntimeHelper } from '../kuberuntime/helper.ts';
import type { ImageSpec, Mount } from '../provider/cri-messages.ts';
import {
  containerMounts,
  hostsFileMount,
  type MountedVolume,
  mountsHostsFile,
} from '../volumes/container-mounts.ts';
import { type NodeDns, podDns } from '../volumes/dns.ts';
import { managedHostsFile, nodeHostsFile } from '../volumes/hosts-file.ts';
import { layout } from '../volumes/layout.ts';
import type { PodVolumes } from '../volumes/pod-volumes.ts';
import { readWithin, type SubPaths } from '../volumes/sub-path.ts';
import { envFileValue } from './pod-resources/env-file.ts';
import { type EnvironmentVariable, makeEnvironment } from './pod-resources/environment.ts';

/** Objects by name, as a node may read them. */
interface ObjectReader<T extends KubeObject> {
  get(namespace: string, name: string): Promise<T>;
}

export interface RuntimeHelperDeps {
  readonly recorder: EventRecorder;
  readonly rootDir: string;
  readonly clusterDomain: string;
  /** Absent: pods share the host's resolver, nothing is worked out for them. */
  readonly nodeDns?: () => NodeDns;
  readonly nodeGetter: () => Node | undefined;
  readonly nodeAllocatable: () => ResourceList;
  readonly hostIps: readonly string[];
  /** All services; absent as long as they were never listed. */
  readonly services: () => readonly Service[] | undefined;
  readonly configMaps: ObjectReader<ConfigMap>;
  readonly secrets: ObjectReader<Secret>;
  readonly podVolumes: Pick<PodVolumes, 'pathOf' | 'extraGroups' | 'answers'>;
  /** Absent: the provider does not mount, so nothing has to be made safe. */
  readonly subPaths?: SubPaths;
  readonly cgroupParent: (pod: Pod) => string;
  /** Absent: pods have no cgroups of their own. */
  readonly podCgroup?: PodCgroupAccess;
  /** Absent: the provider knows no users of pods' own. */
  readonly userNamespace?: RuntimeHelper['userNamespace'];
  readonly isPodTerminationRequested: (uid: string) => boolean;
  readonly runtimeHandler?: (pod: Pod) => Promise<string>;
  /** Can the runtime handler make everything below a mount read-only? */
  readonly supportsRecursiveReadOnly: (handler: string) => boolean;
}

/**
 * What a container gets from the node: variables, mounts, names. Gathered here, decided in `kube`, `volumes` and `pod-resources`.
 *
 * Follows kubelet `GenerateRunContainerOptions`.
 */
export function runtimeHelper(deps: RuntimeHelperDeps): RuntimeHelper {
  const names = (pod: Pod): { hostname: string; domain: string } =>
    hostnameAndDomain(pod, deps.clusterDomain);
  return {
    generateRunContainerOptions: (pod, container, podIps, imageVolumes) =>
      runContainerOptions(deps, pod, container, { podIps, imageVolumes }),
    getPodDns: (pod) => {
      if (!deps.nodeDns) return {};
      const { dns, events } = podDns(pod, deps.nodeDns());
      const node = deps.nodeGetter();
      for (const { reason, message, object } of events) {
        const target = object === 'pod' ? pod : node;
        if (target) deps.recorder.event(target, 'Warning', reason, message);
      }
      return dns;
    },
    hostnameAndDomain: names,
    cgroupParent: deps.cgroupParent,
    ...(deps.podCgroup && { podCgroup: deps.podCgroup }),
    ...(deps.userNamespace && { userNamespace: deps.userNamespace }),
    extraSupplementalGroups: (pod) => deps.podVolumes.extraGroups(pod),
    isPodTerminationRequested: deps.isPodTerminationRequested,
    ...(deps.runtimeHandler && { runtimeHandler: deps.runtimeHandler }),
  };
}

interface Given {
  readonly podIps: readonly string[];
  readonly imageVolumes: ReadonlyMap<string, ImageSpec>;
}

async function runContainerOptions(
  deps: RuntimeHelperDeps,
  pod: Pod,
  container: Container,
  given: Given,
): Promise<RunContainerOptions> {
  const envs = await environment(deps, pod, container, given.podIps);
  const mounts = await mountsOf(deps, pod, container, { ...given, envs });
  const podContainerDir = layout.containerDir(deps.rootDir, uidOf(pod), container.name);
  if (container.terminationMessagePath) mkdirSync(podContainerDir, { recursive: true, mode: 0o750 });
  return { envs, mounts, podContainerDir: container.terminationMessagePath ? podContainerDir : '' };
}

/** R184, R185. */
async function environment(
  deps: RuntimeHelperDeps,
  pod: Pod,
  container: Container,
  podIps: readonly string[],
): Promise<readonly EnvironmentVariable[]> {
  const sources = [
    ...(container.envFrom ?? []).map(({ configMapRef, secretRef }) => ({
      configMap: configMapRef?.name,
      secret: secretRef?.name,
    })),
    ...(container.env ?? []).map(({ valueFrom }) => ({
      configMap: valueFrom?.configMapKeyRef?.name,
      secret: valueFrom?.secretKeyRef?.name,
    })),
  ];
  const namespace = namespaceOf(pod);
  const configMaps = await fetchAll(
    deps.configMaps,
    namespace,
    sources.map(({ configMap }) => configMap),
  );
  const secrets = await fetchAll(
    deps.secrets,
    namespace,
    sources.map(({ secret }) => secret),
  );
  const services = deps.services();
  return makeEnvironment(pod, container, {
    configMap: (name) => configMaps(name),
    secret: (name) => secrets(name),
    services: services ?? [],
    servicesSynced: services !== undefined,
    nodeAllocatable: deps.nodeAllocatable(),
    hostIps: deps.hostIps,
    podIps,
    fileKey: (volume, path, key) => fileKey(deps, pod, { volume, path, key }),
  });
}

/** The value of a key in a file that an earlier container of the pod left in a volume. */
function fileKey(
  { podVolumes }: RuntimeHelperDeps,
  pod: Pod,
  { volume, path, key }: { readonly volume: string; readonly path: string; readonly key: string },
): string | undefined {
  const source = pod.spec?.volumes?.find(({ name }) => name === volume);
  const dir = source && podVolumes.pathOf(pod, source);
  if (dir === undefined)
    throw new AgentError('not_found', `cannot find the volume "${volume}" referenced by FileKeyRef`);
  const text = readWithin(dir, path);
  return text === undefined ? undefined : envFileValue(text, key);
}

/** Reads objects ahead; the reader tells of a failure only when its object is asked for. */
async function fetchAll<T extends KubeObject>(
  reader: ObjectReader<T>,
  namespace: string,
  names: readonly (string | undefined)[],
): Promise<(name: string) => T | undefined> {
  const wanted = [...new Set(names.filter((name) => name !== undefined && name !== ''))] as string[];
  const results = await Promise.allSettled(wanted.map((name) => reader.get(namespace, name)));
  const byName = new Map(wanted.map((name, index) => [name, results[index]]));
  return (name) => {
    const result = byName.get(name);
    if (result?.status === 'fulfilled') return result.value;
    if (!result || isNotFound(result.reason)) return undefined;
    throw AgentError.from(result.reason, 'unavailable');
  };
}

async function mountsOf(
  deps: RuntimeHelperDeps,
  pod: Pod,
  container: Container,
  { podIps, imageVolumes, envs }: Given & { readonly envs: readonly EnvironmentVariable[] },
): Promise<readonly Mount[]> {
  const { podVolumes, subPaths } = deps;
  const volumes = new Map<string, MountedVolume>();
  for (const volume of pod.spec?.volumes ?? []) {
    const path = volume.image ? '' : podVolumes.pathOf(pod, volume);
    if (path !== undefined) volumes.set(volume.name, { path, ...(volume.image && { readOnly: true }) });
  }
  const mounts: Mount[] = [];
  const supportsRecursiveReadOnly = await canBeRecursive(deps, pod, container);
  const planned = containerMounts({ container, volumes, envs, supportsRecursiveReadOnly });
  for (const [index, { name, mount, volumePath, subPath }] of planned.entries()) {
    const image = imageVolumes.get(name);
    if (image) mounts.push({ ...mount, hostPath: '', image, imageSubPath: subPath });
    else if (subPath === '' || !subPaths) mounts.push(mount);
    else {
      const safe = {
        podUid: uidOf(pod),
        container: container.name,
        volume: name,
        volumePath,
        subPath,
        index,
      };
      await podVolumes.answers(volumePath);
      mounts.push({ ...mount, hostPath: await prepared(subPaths, safe) });
    }
  }
  if (mountsHostsFile(container, podIps)) mounts.push(hostsFileMount(writeHostsFile(deps, pod, podIps)));
  return mounts;
}

/** Whether mounts can be made read-only with all below them; looked up only where one is to be. */
async function canBeRecursive(
  { runtimeHandler, supportsRecursiveReadOnly }: RuntimeHelperDeps,
  pod: Pod,
  { volumeMounts = [] }: Container,
): Promise<boolean> {
  if (!volumeMounts.some(({ recursiveReadOnly }) => recursiveReadOnly !== undefined)) return false;
  return supportsRecursiveReadOnly((await runtimeHandler?.(pod)) ?? '');
}

async function prepared(subPaths: SubPaths, mount: Parameters<SubPaths['prepare']>[0]): Promise<string> {
  try {
    return await subPaths.prepare(mount);
  } catch (reason) {
    throw new AgentError(
      'failed_precondition',
      `failed to prepare subPath for volumeMount "${mount.volume}" of container "${mount.container}": ${messageOf(reason)}`,
      { cause: reason },
    );
  }
}

/** Writes the pod's `/etc/hosts` and returns where it is. */
function writeHostsFile(deps: RuntimeHelperDeps, pod: Pod, podIps: readonly string[]): string {
  const path = layout.etcHosts(deps.rootDir, uidOf(pod));
  const aliases = pod.spec?.hostAliases ?? [];
  const { hostname, domain } = hostnameAndDomain(pod, deps.clusterDomain);
  const text = pod.spec?.hostNetwork
    ? nodeHostsFile(existsSync('/etc/hosts') ? readFileSync('/etc/hosts', 'utf8') : '', aliases)
    : managedHostsFile({ podIPs: podIps, hostName: hostname, hostDomain: domain, hostAliases: aliases });
  mkdirSync(layout.podDir(deps.rootDir, uidOf(pod)), { recursive: true, mode: 0o750 });
  writeFileSync(path, text);
  chmodSync(path, 0o644); // past the umask
  return path;
}
