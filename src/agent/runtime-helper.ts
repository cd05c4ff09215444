import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isNotFound } from '../api/client.ts';
import { AgentError } from '../base/errors.ts';
import type { EventRecorder } from '../kube/events.ts';
import { hostnameAndDomain } from '../kube/hostname.ts';
import { namespaceOf, uidOf } from '../kube/names.ts';
import type { ResourceList } from '../kube/resources/resources.ts';
import type { ConfigMap, Container, KubeObject, Node, Pod, Secret, Service } from '../kube/types.ts';
import type {
  PodCgroupAccess,
  RunContainerOptions,
  RuntimeHelper,
} from '../containers/kuberuntime/helper.ts';
import type { ImageSpec, Mount } from '../provider/cri-messages.ts';
import { containerMounts, hostsFileMount, mountsHostsFile } from '../containers/volumes/container-mounts.ts';
import { type NodeDns, podDns } from '../containers/volumes/dns.ts';
import { managedHostsFile, nodeHostsFile } from '../containers/volumes/hosts-file.ts';
import { layout } from '../containers/paths/layout.ts';
import type { PodVolumes } from '../containers/volumes/pod-volumes.ts';
import type { SubPaths } from '../containers/volumes/sub-path.ts';
import { envFileValue } from '../containers/envvars/env-file.ts';
import {
  type EnvironmentSources,
  type EnvironmentVariable,
  makeEnvironment,
} from '../containers/envvars/environment.ts';

/** Reads objects by name, as nodes are allowed to. */
interface ObjectReader<T extends KubeObject> {
  get(namespace: string, name: string): Promise<T>;
}

export interface RuntimeHelperDeps {
  readonly recorder: EventRecorder;
  readonly rootDir: string;
  readonly clusterDomain: string;
  /** Returns the node's DNS settings; absent when pods use the host's resolver. */
  readonly nodeDns?: () => NodeDns;
  readonly nodeGetter: () => Node | undefined;
  readonly nodeAllocatable: () => ResourceList;
  readonly hostIps: readonly string[];
  /** Returns all services; `undefined` before they were listed. */
  readonly services: () => readonly Service[] | undefined;
  readonly configMaps: ObjectReader<ConfigMap>;
  readonly secrets: ObjectReader<Secret>;
  readonly podVolumes: Pick<PodVolumes, 'mounted' | 'devices' | 'extraGroups' | 'readFile'>;
  /** Makes subpaths of volumes safe; absent when the provider does not mount volumes. */
  readonly subPaths?: SubPaths;
  readonly cgroupParent: (pod: Pod) => string;
  /** Access to the pods' cgroups; absent when pods have none. */
  readonly podCgroup?: PodCgroupAccess;
  /** Returns a pod's user namespace; absent when the provider does not support them. */
  readonly userNamespace?: RuntimeHelper['userNamespace'];
  readonly isPodTerminationRequested: (uid: string) => boolean;
  readonly runtimeHandler?: (pod: Pod) => Promise<string>;
  /** Whether the runtime handler supports recursive read-only mounts. */
  readonly supportsRecursiveReadOnly: (handler: string) => boolean;
}

/**
 * Makes the runtime helper, which collects what a container gets from the node: variables, mounts and names. The decisions are made in
 * `kube`, `volumes` and `pod-resources`.
 *
 * Follows kubelet `GenerateRunContainerOptions`.
 */
export function runtimeHelper(deps: RuntimeHelperDeps): RuntimeHelper {
  const names = (pod: Pod): { hostname: string; domain: string } =>
    hostnameAndDomain(pod, deps.clusterDomain);
  return {
    generateRunContainerOptions: (pod, container, podIps, imageVolumes) =>
      runContainerOptions(deps, pod, container, { podIps, imageVolumes }),
    environment: (pod, container, podIps) => environment(deps, pod, container, podIps),
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

interface ContainerInputs {
  readonly podIps: readonly string[];
  readonly imageVolumes: ReadonlyMap<string, ImageSpec>;
}

async function runContainerOptions(
  deps: RuntimeHelperDeps,
  pod: Pod,
  container: Container,
  inputs: ContainerInputs,
): Promise<RunContainerOptions> {
  const envs = await environment(deps, pod, container, inputs.podIps);
  const mounts = await mountsOf(deps, pod, container, { ...inputs, envs });
  const podContainerDir = layout.containerDir(deps.rootDir, uidOf(pod), container.name);
  if (container.terminationMessagePath) mkdirSync(podContainerDir, { recursive: true, mode: 0o750 });
  const devices = deps.podVolumes.devices(pod, container);
  return { envs, mounts, devices, podContainerDir: container.terminationMessagePath ? podContainerDir : '' };
}

/** The environment variables of a container (R184, R185). */
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
    fileKey: await fileKeys(deps, pod, container),
  });
}

/** Prefetches the files that earlier containers of the pod wrote into its volumes, for variables that take their value from such a file. */
async function fileKeys(
  { podVolumes }: RuntimeHelperDeps,
  pod: Pod,
  { env = [] }: Container,
): Promise<NonNullable<EnvironmentSources['fileKey']>> {
  const keyOf = (volume: string, path: string): string => `${volume}/${path}`;
  const references = new Map(
    env.flatMap(({ valueFrom }) => {
      const { volumeName, path } = valueFrom?.fileKeyRef ?? {};
      return volumeName === undefined || path === undefined
        ? []
        : [[keyOf(volumeName, path), { volumeName, path }]];
    }),
  );
  const text = await readAhead([...references.keys()], async (key) => {
    const { volumeName = '', path = '' } = references.get(key) ?? {};
    return podVolumes.readFile(pod, volumeName, path);
  });
  return ({ volumeName, path, key, optional = false }) => {
    const found = text(keyOf(volumeName, path));
    if (found === undefined && optional) return undefined;
    try {
      return envFileValue(found ?? noFile(path), key);
    } catch (cause) {
      // like the kubelet, the error does not show the file's content
      throw new AgentError('invalid_argument', "couldn't parse env file", { cause });
    }
  };
}

function noFile(path: string): never {
  throw new AgentError('not_found', `there is no file ${path}`);
}

/** Prefetches items by key. A failure is thrown only when its result is requested. */
async function readAhead<T>(
  keys: readonly string[],
  read: (key: string) => Promise<T>,
): Promise<(key: string) => T | undefined> {
  const results = await Promise.allSettled(keys.map(read));
  const byKey = new Map(keys.map((key, index) => [key, results[index]]));
  return (key) => {
    const result = byKey.get(key);
    if (result?.status === 'rejected') throw AgentError.from(result.reason, 'unavailable');
    return result?.value;
  };
}

/** Prefetches objects; one that does not exist is `undefined`. */
const fetchAll = <T extends KubeObject>(
  reader: ObjectReader<T>,
  namespace: string,
  names: readonly (string | undefined)[],
): Promise<(name: string) => T | undefined> =>
  readAhead<T | undefined>([...new Set(names.filter((name) => (name ?? '') !== ''))] as string[], (name) =>
    reader.get(namespace, name).catch((reason: unknown) => {
      if (isNotFound(reason)) return undefined;
      throw reason;
    }),
  );

async function mountsOf(
  deps: RuntimeHelperDeps,
  pod: Pod,
  container: Container,
  { podIps, imageVolumes, envs }: ContainerInputs & { readonly envs: readonly EnvironmentVariable[] },
): Promise<readonly Mount[]> {
  const { podVolumes, subPaths } = deps;
  const volumes = podVolumes.mounted(pod);
  const mounts: Mount[] = [];
  const supportsRecursiveReadOnly = await canBeRecursive(deps, pod, container);
  const planned = containerMounts({ container, volumes, envs, supportsRecursiveReadOnly });
  for (const [index, { name, mount, volumePath, subPath }] of planned.entries()) {
    const image = imageVolumes.get(name);
    if (image) mounts.push({ ...mount, hostPath: '', image, imageSubPath: subPath });
    else if (subPath === '' || !subPaths) mounts.push(mount);
    else {
      const part = {
        podUid: uidOf(pod),
        container: container.name,
        volume: name,
        volumePath,
        subPath,
        index,
      };
      mounts.push({ ...mount, hostPath: await subPaths.prepare(part) });
    }
  }
  if (mountsHostsFile(pod, container, podIps)) mounts.push(hostsFileMount(writeHostsFile(deps, pod, podIps)));
  return mounts;
}

/** Whether recursive read-only mounts are supported; looked up only for pods that request one. */
async function canBeRecursive(
  { runtimeHandler, supportsRecursiveReadOnly }: RuntimeHelperDeps,
  pod: Pod,
  { volumeMounts = [] }: Container,
): Promise<boolean> {
  if (!volumeMounts.some(({ recursiveReadOnly }) => recursiveReadOnly !== undefined)) return false;
  return supportsRecursiveReadOnly((await runtimeHandler?.(pod)) ?? '');
}

/** Writes the pod's `/etc/hosts` and returns its path. */
function writeHostsFile(deps: RuntimeHelperDeps, pod: Pod, podIps: readonly string[]): string {
  const path = layout.etcHosts(deps.rootDir, uidOf(pod));
  const aliases = pod.spec?.hostAliases ?? [];
  const { hostname, domain } = hostnameAndDomain(pod, deps.clusterDomain);
  const text = pod.spec?.hostNetwork
    ? nodeHostsFile(existsSync('/etc/hosts') ? readFileSync('/etc/hosts', 'utf8') : '', aliases)
    : managedHostsFile({ podIPs: podIps, hostName: hostname, hostDomain: domain, hostAliases: aliases });
  mkdirSync(layout.podDir(deps.rootDir, uidOf(pod)), { recursive: true, mode: 0o750 });
  writeFileSync(path, text);
  chmodSync(path, 0o644); // regardless of the umask
  return path;
}
