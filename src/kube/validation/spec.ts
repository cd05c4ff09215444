import { amountsOf } from '../resources/resources.ts';
import type { Pod, PodSpec } from '../types.ts';
import { validateAffinity } from './affinity.ts';
import { validateContainers, validateEphemeralContainers, validateInitContainers } from './containers.ts';
import { validateDnsConfig, validateHostAliases } from './dns.ts';
import {
  duplicate,
  type Faults,
  forbidden,
  invalid,
  invalidEach,
  oneOf,
  required,
  tooLong,
  unsupported,
  notFound,
} from './field-error.ts';
import { dns1123Label, dns1123Subdomain } from './name-rules.ts';
import type { PodContext, PodValidationOptions } from './options.ts';
import { validateHostNetworkPorts } from './ports.ts';
import { validateContainerResources, validatePodResources } from './resource-rules.ts';
import {
  validateReadinessGates,
  validateSchedulingGates,
  validateTolerations,
  validateTopologySpread,
} from './scheduling.ts';
import { validatePodSecurityContext } from './security-context.ts';
import { label, labels } from './shared.ts';
import { validateVolumes } from './volumes.ts';
import { containersOf, validateHostProcess, validateLinuxPod, validateWindowsPod } from './windows.ts';

type Claim = NonNullable<PodSpec['resourceClaims']>[number];

const emptySpec: PodSpec = { containers: [] };

/**
 * Validates the spec of a pod with defaults.
 *
 * Follows Kubernetes `ValidatePodSpec`.
 */
export function* validatePodSpec(pod: Pod, options: PodValidationOptions): Faults {
  const spec = pod.spec ?? emptySpec;
  const claimNames = new Set(
    (spec.resourceClaims ?? []).map(({ name = '' }: Partial<Claim>) => name).filter((name) => name !== ''),
  );
  const bare: PodContext = { options, pod, volumes: new Map(), claimNames };
  const { volumes, faults } = validateVolumes('spec.volumes', bare);
  const context: PodContext = { ...bare, volumes };
  if (spec.terminationGracePeriodSeconds === undefined) yield required('spec.terminationGracePeriodSeconds');
  yield* faults;
  yield* claimsOfStaticPod(pod);
  yield* resourceClaims('spec.resourceClaims', spec);
  yield* validateContainers('spec.containers', context);
  yield* validateInitContainers('spec.initContainers', context);
  yield* validateEphemeralContainers('spec.ephemeralContainers', context);
  if (options.podLevelResources ?? true) yield* validatePodResources('spec.resources', pod, context);
  yield* validateHostNetworkPorts(pod, options.hostPortsRequired ?? true);
  yield* policies(spec);
  yield* labels('spec.nodeSelector', spec.nodeSelector);
  yield* validatePodSecurityContext('spec.securityContext', pod);
  if (spec.affinity) yield* validateAffinity('spec.affinity', spec.affinity);
  yield* validateDnsConfig('spec.dnsConfig', spec.dnsConfig, spec.dnsPolicy ?? '');
  yield* validateReadinessGates('spec.readinessGates', spec.readinessGates ?? []);
  yield* validateSchedulingGates('spec.schedulingGates', spec.schedulingGates ?? []);
  yield* validateTopologySpread('spec.topologySpreadConstraints', spec.topologySpreadConstraints ?? []);
  yield* validateHostProcess(pod, context);
  yield* hostUsers(pod, options);
  yield* hostnameOverride(spec);
  yield* names(spec);
  yield* placement(spec, context);
  yield* operatingSystem(pod);
  yield* schedulingGroup(spec);
  yield* fileVolumes(pod);
}

/** Validates a field of an alpha gate that is not in the types: the API server drops it, but manifests are checked. */
function* schedulingGroup(spec: PodSpec & { readonly schedulingGroup?: SchedulingGroup }): Faults {
  if (!spec.schedulingGroup) return;
  const field = 'spec.schedulingGroup.podGroupName';
  const { podGroupName: name } = spec.schedulingGroup;
  if (name === undefined) yield invalid(field, null, 'must specify one of: `podGroupName`');
  else yield* invalidEach(field, name, dns1123Subdomain(name));
}

interface SchedulingGroup {
  readonly podGroupName?: string;
}

/** Checks that environment files are in volumes of kind emptyDir. */
function* fileVolumes(pod: Pod): Faults {
  const sources = new Map((pod.spec?.volumes ?? []).map((volume) => [volume.name, volume]));
  for (const [field, { env = [] }] of containersOf(pod))
    for (const [i, { valueFrom }] of env.entries()) {
      if (!valueFrom?.fileKeyRef) continue;
      const at = `${field}.env[${i}].valueFrom.fileKeyRef.volumeName`;
      const { volumeName = '' } = valueFrom.fileKeyRef as Partial<typeof valueFrom.fileKeyRef>;
      const volume = sources.get(volumeName);
      if (!volume) yield notFound(at, volumeName);
      else if (!volume.emptyDir) yield invalid(at, volumeName, 'referenced volume must be of type emptyDir');
    }
}

/** Rejects claims in a pod with the mirror annotation, which represents a static pod. The error has no field in Kubernetes either. */
function* claimsOfStaticPod({ metadata, spec }: Pod): Faults {
  if (
    metadata?.annotations?.['kubernetes.io/config.mirror'] !== undefined &&
    (spec?.resourceClaims ?? []).length > 0
  )
    yield forbidden('[]', 'static pods do not support resource claims');
}

function* resourceClaims(field: string, spec: PodSpec): Faults {
  const seen = new Set<string>();
  for (const [i, claim] of (spec.resourceClaims ?? []).entries()) {
    const at = `${field}[${i}]`;
    const { name = '' } = claim as Partial<typeof claim>;
    if (name === '') yield required(`${at}.name`);
    else if (seen.has(name)) yield duplicate(`${at}.name`, name);
    else yield* label(`${at}.name`, name);
    seen.add(name);
    yield* claimSource(at, name, claim);
  }
}

/** Requires exactly one of an existing claim and a claim template. */
function* claimSource(at: string, name: string, claim: Claim): Faults {
  const { resourceClaimName, resourceClaimTemplateName } = claim;
  const shown = {
    Name: name,
    ResourceClaimName: resourceClaimName ?? null,
    ResourceClaimTemplateName: resourceClaimTemplateName ?? null,
  };
  if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined)
    yield invalid(
      at,
      shown,
      'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified',
    );
  if (resourceClaimName === undefined && resourceClaimTemplateName === undefined)
    yield invalid(at, shown, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`');
  for (const [key, value] of Object.entries({ resourceClaimName, resourceClaimTemplateName }))
    if (value !== undefined) yield* invalidEach(`${at}.${key}`, value, dns1123Subdomain(value));
}

function* policies(spec: PodSpec): Faults {
  const { restartPolicy = '', dnsPolicy = '' } = spec;
  if (restartPolicy === '') yield required('spec.restartPolicy');
  else yield* oneOf('spec.restartPolicy', restartPolicy, ['Always', 'OnFailure', 'Never']);
  if (dnsPolicy === '') yield required('spec.dnsPolicy');
  else
    yield* oneOf('spec.dnsPolicy', dnsPolicy, ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']);
}

/** Checks that a user namespace is not combined with host namespaces or raw devices. */
function* hostUsers(pod: Pod, options: PodValidationOptions): Faults {
  const { spec } = pod;
  if (spec?.hostUsers !== false) return;
  const detail = 'when `hostUsers` is false';
  if (spec.hostNetwork && !options.userNamespacesHostNetwork) yield forbidden('spec.hostNetwork', detail);
  if (spec.hostPID) yield forbidden('spec.HostPID', detail);
  if (spec.hostIPC) yield forbidden('spec.HostIPC', detail);
  for (const [field, { volumeDevices = [] }] of containersOf(pod))
    if (volumeDevices.length > 0) yield forbidden(`${field}.volumeDevices`, detail);
}

const mostDeadline = 2_147_483_647;

function* names(spec: PodSpec): Faults {
  const {
    serviceAccountName = '',
    nodeName = '',
    activeDeadlineSeconds,
    hostname = '',
    subdomain = '',
  } = spec;
  if (serviceAccountName !== '')
    yield* invalidEach('spec.serviceAccountName', serviceAccountName, dns1123Subdomain(serviceAccountName));
  if (nodeName !== '') yield* invalidEach('spec.nodeName', nodeName, dns1123Subdomain(nodeName));
  if (
    activeDeadlineSeconds !== undefined &&
    (activeDeadlineSeconds < 1 || activeDeadlineSeconds > mostDeadline)
  )
    yield invalid(
      'spec.activeDeadlineSeconds',
      activeDeadlineSeconds,
      `must be between 1 and ${mostDeadline}, inclusive`,
    );
  if (hostname !== '') yield* invalidEach('spec.hostname', hostname, dns1123Label(hostname));
  if (subdomain !== '') yield* invalidEach('spec.subdomain', subdomain, dns1123Label(subdomain));
}

const longestHostname = 64;

function* hostnameOverride(spec: PodSpec): Faults {
  const { hostnameOverride: name } = spec;
  if (name === undefined) return;
  const field = 'spec.hostnameOverride';
  if (spec.setHostnameAsFQDN ?? false)
    yield forbidden(field, 'may not be specified when setHostnameAsFQDN is true');
  if (spec.hostNetwork ?? false) yield forbidden(field, 'may not be specified when hostNetwork is true');
  if (Buffer.byteLength(name) > longestHostname) yield tooLong(field, longestHostname);
  yield* invalidEach(field, name, dns1123Subdomain(name));
}

function* placement(spec: PodSpec, context: PodContext): Faults {
  yield* validateTolerations('spec.tolerations', spec.tolerations ?? [], context.options);
  yield* validateHostAliases('spec.hostAliases', spec.hostAliases ?? []);
  const { priorityClassName = '', runtimeClassName, preemptionPolicy, overhead } = spec;
  if (priorityClassName !== '')
    yield* invalidEach('spec.priorityClassName', priorityClassName, dns1123Subdomain(priorityClassName));
  if (runtimeClassName !== undefined)
    yield* invalidEach('spec.runtimeClassName', runtimeClassName, dns1123Subdomain(runtimeClassName));
  if (preemptionPolicy === '') yield required('spec.preemptionPolicy');
  else if (preemptionPolicy !== undefined)
    yield* oneOf('spec.preemptionPolicy', preemptionPolicy, ['PreemptLowerPriority', 'Never']);
  if (overhead && Object.keys(amountsOf(overhead)).length > 0)
    yield* validateContainerResources('spec.overhead', { limits: overhead }, context);
}

function* operatingSystem(pod: Pod): Faults {
  const { os } = pod.spec ?? {};
  if (!os) return;
  const name = (os as Partial<typeof os>).name ?? '';
  if (name === '') yield required('spec.os.name');
  else if (name === 'linux') yield* validateLinuxPod(pod);
  else if (name === 'windows') yield* validateWindowsPod(pod);
  else yield unsupported('spec.os', name, ['linux', 'windows']);
}
