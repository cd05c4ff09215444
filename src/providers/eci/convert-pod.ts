import { AgentError } from '../../base/errors.ts';
import { type DockerConfig, readDockerConfig, readDockerConfigJson } from '../../kube/docker-config.ts';
import { expand } from '../../kube/expansion.ts';
import type { Container, Pod, Secret } from '../../kube/types.ts';
import type { DNSConfig } from '../../provider/cri-messages.ts';
import type { PodResolution, VolumeFile } from '../../provider/resolution.ts';
import { annotationParameters } from './annotations.ts';
import type { EciParameters, EciValue } from './api.ts';
import { containerParameters, type EciVariable, initContainerParameters } from './convert-container.ts';
import { volumeParameters } from './convert-volume.ts';
import { type EciOwner, groupName, podTags } from './ownership.ts';
import type { EciSettings } from './settings.ts';
import { groupSize, legalSize } from './sizes.ts';

/** All that a pod's references stand for. */
export interface ResolvedPod {
  /** By container name. */
  readonly env: ReadonlyMap<string, readonly EciVariable[]>;
  /** By volume name. */
  readonly files: ReadonlyMap<string, readonly VolumeFile[]>;
  readonly dns: DNSConfig;
  readonly hostname: string;
  readonly pullSecrets: readonly Secret[];
}

/** The fields that only the service knows before the group runs. */
const serviceFields = new Set(['status.podIP', 'status.hostIP']);

/** resolvePod asks the agent for everything that the pod's spec refers to. @throws {AgentError} what cannot be resolved */
export async function resolvePod(
  pod: Pod,
  resolution: PodResolution | undefined,
  pullSecrets: readonly Secret[],
): Promise<ResolvedPod> {
  const { containers = [], initContainers = [], hostname = '' } = pod.spec ?? {};
  const env = new Map<string, readonly EciVariable[]>();
  for (const container of [...initContainers, ...containers])
    env.set(container.name, await variables(container, resolution));
  return {
    env,
    files: await filesOf(pod, resolution),
    dns: (await resolution?.dns()) ?? {},
    hostname: resolution?.hostname() ?? hostname,
    pullSecrets,
  };
}

async function filesOf(
  pod: Pod,
  resolution: PodResolution | undefined,
): Promise<ReadonlyMap<string, readonly VolumeFile[]>> {
  const files = new Map<string, readonly VolumeFile[]>();
  for (const volume of pod.spec?.volumes ?? []) {
    const found = await resolution?.files(volume);
    if (found) files.set(volume.name, found);
    else if (volume.configMap ?? volume.secret ?? volume.downwardAPI ?? volume.projected)
      throw unresolved(`volume ${volume.name}`);
  }
  return files;
}

async function variables(
  container: Container,
  resolution: PodResolution | undefined,
): Promise<readonly EciVariable[]> {
  const byService = new Map(
    (container.env ?? []).flatMap(({ name, valueFrom }) => {
      const path = valueFrom?.fieldRef?.fieldPath ?? '';
      return serviceFields.has(path) ? [[name, path] as const] : [];
    }),
  );
  const values = resolution ? await resolution.environment(container) : literals(container);
  return values.map(({ name, value }) => {
    const field = byService.get(name);
    return { name, value, ...(field !== undefined && { field }) };
  });
}

/** Without an agent around it the provider can only take what stands in the spec. */
function literals({ name, env = [], envFrom = [] }: Container): readonly EciVariable[] {
  if (envFrom.length > 0) throw unresolved(`envFrom of container ${name}`);
  const values = new Map<string, string>();
  return env.map(({ name: variable, value = '', valueFrom }) => {
    if (valueFrom && !serviceFields.has(valueFrom.fieldRef?.fieldPath ?? ''))
      throw unresolved(`variable ${variable} of container ${name}`);
    const expanded = expand(value, (other) => values.get(other));
    values.set(variable, expanded);
    return { name: variable, value: expanded };
  });
}

const unresolved = (what: string): AgentError =>
  new AgentError(
    'failed_precondition',
    `${what} refers to API objects, and the provider runs without an agent that reads them`,
  );

/** What a request is made for. */
export interface GroupContext {
  readonly owner: EciOwner;
  readonly settings: EciSettings;
  readonly clientToken: string;
}

/** groupRequest is the pod as the parameters of `CreateContainerGroup`. @throws {AgentError} what of the pod cannot be said */
export function groupRequest(pod: Pod, resolved: ResolvedPod, context: GroupContext): EciParameters {
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const env = (container: Container): readonly EciVariable[] => resolved.env.get(container.name) ?? [];
  return {
    ...accountParameters(context),
    ...sizeParameters(containers, initContainers),
    ...annotationParameters(pod),
    ...specParameters(pod),
    ContainerGroupName: groupName(pod),
    HostName: resolved.hostname === '' ? undefined : resolved.hostname,
    ...dnsParameters(pod, resolved.dns),
    Container: containers.map((one) => containerParameters(withPodUser(one, pod), env(one))),
    InitContainer: nonEmpty(
      initContainers.map((one) => initContainerParameters(withPodUser(one, pod), env(one))),
    ),
    Volume: nonEmpty(volumeParameters(pod, resolved.files)),
    ImageRegistryCredential: nonEmpty(registryCredentials(resolved.pullSecrets)),
    Tag: podTags(context.owner, pod),
    ClientToken: context.clientToken,
  };
}

function specParameters({ spec = { containers: [] } }: Pod): EciParameters {
  const { hostAliases = [], securityContext } = spec;
  return {
    RestartPolicy: spec.restartPolicy ?? 'Always',
    ActiveDeadlineSeconds: spec.activeDeadlineSeconds,
    TerminationGracePeriodSeconds: spec.terminationGracePeriodSeconds,
    ShareProcessNamespace: spec.shareProcessNamespace,
    HostAliase: nonEmpty(hostAliases.map(({ ip, hostnames }) => ({ Ip: ip, Hostname: hostnames }))),
    SecurityContext: securityContext?.sysctls && {
      Sysctl: securityContext.sysctls.map(({ name, value }) => ({ Name: name, Value: value })),
    },
  };
}

function accountParameters({ settings }: GroupContext): EciParameters {
  return {
    RegionId: settings.region,
    SecurityGroupId: settings.securityGroup,
    VSwitchId: settings.vSwitch,
    ZoneId: settings.zone,
    ResourceGroupId: settings.resourceGroup,
    RamRoleName: settings.ramRole,
    AutoCreateEip: settings.eip === 'auto' ? true : undefined,
  };
}

/** Group-level sizes are what is bought; without any the service takes its default. */
function sizeParameters(
  containers: readonly Container[],
  initContainers: readonly Container[],
): EciParameters {
  const needed = groupSize(containers, initContainers);
  const size = needed && (legalSize(needed) ?? needed);
  return { Cpu: size?.cpu, Memory: size?.memory };
}

/** A container's own security context wins over the pod's. */
function withPodUser(container: Container, { spec }: Pod): Container {
  const { runAsUser, runAsGroup, runAsNonRoot } = spec?.securityContext ?? {};
  const own = container.securityContext;
  const merged = {
    ...(runAsUser !== undefined && { runAsUser }),
    ...(runAsGroup !== undefined && { runAsGroup }),
    ...(runAsNonRoot !== undefined && { runAsNonRoot }),
    ...own,
  };
  return own === undefined && Object.keys(merged).length === 0
    ? container
    : { ...container, securityContext: merged };
}

function dnsParameters(
  { spec }: Pod,
  { servers = [], searches = [], options = [] }: DNSConfig,
): EciParameters {
  if (servers.length === 0 && searches.length === 0 && options.length === 0)
    return { DnsPolicy: spec?.dnsPolicy === 'None' ? 'None' : 'Default' };
  return {
    DnsPolicy: 'None',
    DnsConfig: {
      NameServer: nonEmpty(servers),
      Search: nonEmpty(searches),
      Option: nonEmpty(
        options.map((option) => {
          const [name = '', value] = option.split(/:(.*)/s);
          return { Name: name, Value: value };
        }),
      ),
    },
  };
}

/** Pull secrets of either form; `auth` is decoded (E18). */
function registryCredentials(secrets: readonly Secret[]): readonly EciValue[] {
  return secrets.flatMap((secret) =>
    Object.entries(dockerConfigOf(secret)).map(([server, { username, password }]) => ({
      Server: server.replace(/^https?:\/\//, '').replace(/\/v[12]\/?$/, ''),
      UserName: username,
      Password: password,
    })),
  );
}

function dockerConfigOf({ metadata, type, data = {} }: Secret): DockerConfig {
  const read = (key: string): string => {
    const value = Object.hasOwn(data, key) ? data[key] : undefined;
    if (value !== undefined) return Buffer.from(value, 'base64').toString();
    throw new AgentError('invalid_argument', `pull secret ${metadata?.name ?? ''} has no key ${key}`);
  };
  if (type === 'kubernetes.io/dockerconfigjson') return readDockerConfigJson(read('.dockerconfigjson'));
  if (type === 'kubernetes.io/dockercfg') return readDockerConfig(read('.dockercfg'));
  throw new AgentError(
    'invalid_argument',
    `pull secret ${metadata?.name ?? ''} is of type ${type ?? 'Opaque'}; it must be kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg`,
  );
}

const nonEmpty = (items: readonly EciValue[]): readonly EciValue[] | undefined =>
  items.length > 0 ? items : undefined;
