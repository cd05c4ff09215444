import { ownMember, tableOf } from '../../../base/own.ts';
import { labelValueRule } from '../../../kube/validation/name-rules.ts';
import { milliValueOf, tryParseQuantity } from '../../../kube/resources/quantity.ts';
import { ipWarnings } from './address-rules.ts';
import {
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  stringAt,
  textOf,
  valueAt,
} from '../../../apimachinery/json.ts';

const oldNodeLabels: Readonly<Record<string, string>> = tableOf({
  'beta.kubernetes.io/arch': 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  'beta.kubernetes.io/os': 'deprecated since v1.14; use "kubernetes.io/os" instead',
  'failure-domain.beta.kubernetes.io/region':
    'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  'failure-domain.beta.kubernetes.io/zone':
    'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  'beta.kubernetes.io/instance-type':
    'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  'app.kubernetes.io/created-by': 'deprecated since v1.9',
  'scheduler.alpha.kubernetes.io/preferAvoidPods':
    'deprecated since v1.22; use Taints and Tolerations instead',
  'node-role.kubernetes.io/master': 'use "node-role.kubernetes.io/control-plane" instead',
});

/** Warns of node labels with newer names. */
export const oldLabelWarnings = (field: string, labels: JsonObject): readonly string[] =>
  Object.keys(labels).flatMap((key) => {
    const why = oldNodeLabels[key];
    return why === undefined ? [] : [`${field}: ${why}`];
  });

/** Warns of a node label with a newer name. */
export const oldKeyWarnings = (field: string, key: string): readonly string[] => {
  const why = oldNodeLabels[key];
  return why === undefined ? [] : [`${field}: ${why}`];
};

const oldAnnotations: Readonly<Record<string, string>> = {
  'scheduler.alpha.kubernetes.io/critical-pod':
    'non-functional in v1.16+; use the "priorityClassName" field instead',
  'security.alpha.kubernetes.io/sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
  'security.alpha.kubernetes.io/unsafe-sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
};

const oldVolumes: Readonly<Record<string, string>> = tableOf({
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  gitRepo: 'deprecated in v1.11, and disabled by default in v1.33+',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  flocker: 'deprecated in v1.22, non-functional in v1.25+',
  storageos: 'deprecated in v1.22, non-functional in v1.25+',
  quobyte: 'deprecated in v1.22, non-functional in v1.25+',
  glusterfs: 'deprecated in v1.25, non-functional in v1.26+',
  cephfs: 'deprecated in v1.28, non-functional in v1.31+',
  rbd: 'deprecated in v1.28, non-functional in v1.31+',
});
/** Names of volumes that warnings spell differently. */
const shownVolumes: Readonly<Record<string, string>> = tableOf({ storageos: 'storageOS' });

const containersOf = (spec: JsonObject): readonly Placed[] =>
  ['initContainers', 'containers', 'ephemeralContainers'].flatMap((key) =>
    objectsAt(spec, key).map((container, i) => [`spec.${key}[${i}]`, container] as const),
  );

function annotations(pod: JsonObject, containers: readonly Placed[]): string[] {
  const present = objectAt(objectAt(pod, 'metadata'), 'annotations');
  const old = Object.entries(oldAnnotations)
    .filter(([key]) => Object.hasOwn(present, key))
    .map(([key, why]) => `metadata.annotations[${key}]: ${why}`);
  const seccomp = (key: string, holder: unknown): string[] =>
    Object.hasOwn(present, key) && valueAt(holder, 'securityContext', 'seccompProfile') === undefined
      ? [`metadata.annotations[${key}]: non-functional in v1.27+; use the "seccompProfile" field instead`]
      : [];
  return [
    ...old,
    ...seccomp('seccomp.security.alpha.kubernetes.io/pod', pod['spec']),
    ...containers.flatMap(([, one]) =>
      seccomp(`container.seccomp.security.alpha.kubernetes.io/${stringAt(one, 'name')}`, one),
    ),
  ];
}

export function termLabels(term: JsonObject, at: string, checkValues: boolean): string[] {
  return objectsAt(term, 'matchExpressions').flatMap((expression, i) => {
    const key = stringAt(expression, 'key');
    const old = oldNodeLabels[key];
    const values = checkValues ? (listAt(expression, 'values') as readonly string[]) : [];
    return [
      ...(old === undefined ? [] : [`${at}.matchExpressions[${i}].key: ${key} is ${old}`]),
      ...values.flatMap((value, j) =>
        labelValueRule(value).map(
          (why) => `${at}.matchExpressions[${i}].values[${j}]: ${value} is invalid, ${why}`,
        ),
      ),
    ];
  });
}

/** Warns of node labels with newer names. */
function nodeLabels(spec: JsonObject): string[] {
  const affinity = objectAt(objectAt(spec, 'affinity'), 'nodeAffinity');
  const at = 'spec.affinity.nodeAffinity';
  const [required, preferred] = [
    'requiredDuringSchedulingIgnoredDuringExecution',
    'preferredDuringSchedulingIgnoredDuringExecution',
  ];
  return [
    ...Object.keys(objectAt(spec, 'nodeSelector'))
      .sort()
      .filter((key) => Object.hasOwn(oldNodeLabels, key))
      .map((key) => `spec.nodeSelector[${key}]: ${oldNodeLabels[key] ?? ''}`),
    ...objectsAt(objectAt(affinity, required), 'nodeSelectorTerms').flatMap((term, i) =>
      termLabels(term, `${at}.${required}.nodeSelectorTerms[${i}]`, false),
    ),
    ...objectsAt(affinity, preferred).flatMap((term, i) =>
      termLabels(objectAt(term, 'preference'), `${at}.${preferred}[${i}].preference`, true),
    ),
    ...objectsAt(spec, 'topologySpreadConstraints').flatMap((constraint, i) => {
      const field = `spec.topologySpreadConstraints[${i}]`;
      const key = stringAt(constraint, 'topologyKey');
      const old = oldNodeLabels[key];
      return [
        ...(old === undefined ? [] : [`${field}.topologyKey: ${key} is ${old}`]),
        ...selectsNone(constraint, field),
      ];
    }),
  ];
}

const selectsNone = (holder: JsonObject, field: string): string[] =>
  holder['labelSelector'] === undefined
    ? [`${field}.labelSelector: a null labelSelector results in matching no pod`]
    : [];

const affinities = (spec: JsonObject): string[] =>
  ['podAffinity', 'podAntiAffinity'].flatMap((kind) => {
    const affinity = objectAt(objectAt(spec, 'affinity'), kind);
    const field = (when: string, i: number): string =>
      `spec.affinity.${kind}.${when}DuringSchedulingIgnoredDuringExecution[${i}]`;
    const terms = (when: string): readonly JsonObject[] =>
      objectsAt(affinity, `${when}DuringSchedulingIgnoredDuringExecution`);
    return [
      ...terms('required').flatMap((term, i) => selectsNone(term, field('required', i))),
      ...terms('preferred').flatMap((term, i) =>
        selectsNone(objectAt(term, 'podAffinityTerm'), `${field('preferred', i)}.podAffinityTerm`),
      ),
    ];
  });

function volumes(spec: JsonObject): string[] {
  return objectsAt(spec, 'volumes').flatMap((volume, i) => {
    const at = `spec.volumes[${i}]`;
    const claim = objectAt(objectAt(volume, 'ephemeral'), 'volumeClaimTemplate');
    const sizes = sizeWarnings(objectAt(claim, 'spec'), `${at}.ephemeral.volumeClaimTemplate.spec`);
    const old = Object.keys(oldVolumes).filter((kind) => Object.hasOwn(volume, kind));
    return [...old.map((kind) => oldVolumeWarning(at, kind)), ...sizes];
  });
}

/** Warns of a deprecated kind of volume. */
export const oldVolumeWarning = (at: string, kind: string): string =>
  `${at}.${shownVolumes[kind] ?? kind}: ${oldVolumes[kind] ?? ''}`;

/** Warns of fractional sizes of a claim. */
export const sizeWarnings = (claim: JsonObject, at: string): readonly string[] =>
  ['requests', 'limits'].flatMap((side) =>
    fractional(valueAt(claim, 'resources', side), ['storage'], `${at}.resources.${side}`),
  );

/** Warns of fractional amounts of bytes. */
function fractional(amounts: unknown, names: readonly string[], at: string): string[] {
  return names.flatMap((name) => {
    const text = valueAt(amounts, name);
    const read = typeof text === 'string' ? tryParseQuantity(text) : undefined;
    return read === undefined || typeof read === 'string' || milliValueOf(read) % 1000 === 0
      ? []
      : [`${at}[${name}]: fractional byte value ${JSON.stringify(text)} is invalid, must be an integer`];
  });
}

const bytes = ['memory', 'ephemeral-storage'];

/** Warns of duplicate items of a list. */
function repeated(spec: JsonObject, list: string, key: string): string[] {
  const values = objectsAt(spec, list).map((item) => stringAt(item, key));
  return values.flatMap((value, i) =>
    values.indexOf(value) < i ? [`spec.${list}[${i}].${key}: duplicate ${key} ${JSON.stringify(value)}`] : [],
  );
}

const namelessSecrets = (spec: JsonObject): string[] =>
  objectsAt(spec, 'imagePullSecrets').flatMap((secret, i) =>
    stringAt(secret, 'name') === '' ? [`spec.imagePullSecrets[${i}].name: invalid empty name ""`] : [],
  );

/** Warns of variables that are overridden later without being used by the later one. */
const hiddenVariables = ([field, container]: Placed): string[] => {
  const variables = objectsAt(container, 'env');
  const names = variables.map((variable) => stringAt(variable, 'name'));
  return variables.flatMap((variable, i) => {
    const name = names[i] ?? '';
    const [value, before] = [stringAt(variable, 'value'), `$(${name})`];
    const builds = variable['valueFrom'] === undefined && value !== before && value.includes(before);
    return names.indexOf(name) < i && !builds
      ? [
          `${field}.env[${i}]: hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`,
        ]
      : [];
  });
};

/**
 * Returns warnings about what is valid in a pod but deprecated or likely a mistake, in the API server's words.
 *
 * Follows Kubernetes `GetWarningsForPod` (pkg/api/pod, v1.36).
 */
export function podWarnings(pod: JsonObject): readonly string[] {
  const spec = objectAt(pod, 'spec');
  const containers = containersOf(spec);
  const grace = spec['terminationGracePeriodSeconds'];
  return [
    ...nodeLabels(spec),
    ...volumes(spec),
    ...pathWarnings(objectsAt(spec, 'volumes')),
    ...repeated(spec, 'hostAliases', 'ip'),
    ...repeated(spec, 'imagePullSecrets', 'name'),
    ...namelessSecrets(spec),
    ...fractional(spec['overhead'], bytes, 'spec.overhead'),
    ...annotations(pod, containers),
    ...containers.flatMap((placed) => [
      ...bytes.flatMap((name) =>
        ['limits', 'requests'].flatMap((side) =>
          fractional(valueAt(placed[1], 'resources', side), [name], `${placed[0]}.resources.${side}`),
        ),
      ),
      ...hiddenVariables(placed),
    ]),
    ...portWarnings(containers),
    ...(typeof grace === 'number' && grace < 0
      ? [
          'spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1',
        ]
      : []),
    ...affinities(spec),
    ...listAt(objectAt(spec, 'dnsConfig'), 'nameservers').flatMap((ip, i) =>
      ipWarnings(`spec.dnsConfig.nameservers[${i}]`, textOf(ip)),
    ),
    ...objectsAt(spec, 'hostAliases').flatMap((alias, i) =>
      ipWarnings(`spec.hostAliases[${i}].ip`, stringAt(alias, 'ip')),
    ),
  ];
}

/** A path in a volume, and the source of its file. */
interface SourcePath {
  readonly path: string;
  readonly source: string;
}

const text = ({ path, source }: SourcePath): string =>
  source === '' ? JSON.stringify(path) : `${JSON.stringify(path)} (${source})`;

const itemPaths = (holder: JsonObject, source = ''): SourcePath[] =>
  objectsAt(holder, 'items').map((item) => ({ path: stringAt(item, 'path'), source }));

/** More warnings of one kind say nothing new: the header has no room for them. */
const mostWarnings = 200;

/** A directory of paths: which end here, and which end below. */
interface Directory {
  readonly inner: Map<string, Directory>;
  readonly here: number[];
  readonly below: number[];
}

const directory = (): Directory => ({ inner: new Map(), here: [], below: [] });

/** Pairs of paths of which one is, or lies in, the other; each path is walked once. */
function overlaps(paths: readonly SourcePath[]): string[] {
  const trimmed = paths.map(({ path, source }) => ({ path: path.replace(/\/+$/, ''), source }));
  const root = directory();
  const found: string[] = [];
  for (const [i, one] of trimmed.entries()) {
    if (one.path === '') continue;
    for (const at of meeting(root, one.path, i)) {
      const other = trimmed[at];
      if (found.length >= mostWarnings) return found;
      if (other) found.push(`${text(one)} with ${text(other)}`);
    }
  }
  return found;
}

/** Enters a path, and returns the earlier ones that it meets, at most as many as are reported. */
function meeting(root: Directory, path: string, index: number): readonly number[] {
  const met: number[] = [];
  let at = root;
  for (const part of path.split('/')) {
    let next = at.inner.get(part);
    if (!next) at.inner.set(part, (next = directory()));
    at = next;
    met.push(...at.here.slice(0, mostWarnings));
    at.below.push(index);
  }
  met.push(...at.below.slice(0, mostWarnings).filter((other) => other !== index && !at.here.includes(other)));
  if (at.here.length < mostWarnings) at.here.push(index);
  return [...new Set(met)].sort((a, b) => a - b);
}

function projectedPaths(source: JsonObject): readonly SourcePath[] {
  const [map, secret] = [objectAt(source, 'configMap'), objectAt(source, 'secret')];
  const [token, bundle] = [objectAt(source, 'serviceAccountToken'), objectAt(source, 'clusterTrustBundle')];
  const certificate = objectAt(source, 'podCertificate');
  const bundleName = stringAt(bundle, 'name') || stringAt(bundle, 'signerName');
  const named = (kind: string, holder: JsonObject): string =>
    `${kind} ${JSON.stringify(stringAt(holder, 'name'))}`;
  return [
    ...itemPaths(map, named('ConfigMap', map)),
    ...itemPaths(secret, named('Secret', secret)),
    ...itemPaths(objectAt(source, 'downwardAPI'), 'DownwardAPI'),
    { path: stringAt(token, 'path'), source: 'ServiceAccountToken' },
    { path: stringAt(bundle, 'path'), source: `ClusterTrustBundle ${JSON.stringify(bundleName)}` },
    { path: stringAt(certificate, 'certificateChainPath'), source: 'PodCertificate chain' },
    { path: stringAt(certificate, 'keyPath'), source: 'PodCertificate key' },
    { path: stringAt(certificate, 'credentialBundlePath'), source: 'PodCertificate credential bundle' },
  ].filter(({ path }) => path !== '');
}

/** Warns of overlapping files in a volume, and of empty projections. */
export function pathWarnings(volumes: readonly JsonObject[]): string[] {
  return volumes.flatMap((volume) => {
    const head = `volume ${JSON.stringify(stringAt(volume, 'name'))}`;
    const warnings = (what: string, paths: readonly SourcePath[]): string[] =>
      overlaps(paths).map((pair) => `${head} (${what}): overlapping paths: ${pair}`);
    const [map, secret] = [objectAt(volume, 'configMap'), objectAt(volume, 'secret')];
    const sources = objectsAt(objectAt(volume, 'projected'), 'sources');
    return [
      ...warnings(`ConfigMap ${JSON.stringify(stringAt(map, 'name'))}`, itemPaths(map)),
      ...warnings(`Secret ${JSON.stringify(stringAt(secret, 'secretName'))}`, itemPaths(secret)),
      ...warnings('DownwardAPI', itemPaths(objectAt(volume, 'downwardAPI'))),
      ...sources
        .filter((source) => Object.keys(source).length === 0)
        .map(() => `${head} (Projected) has no sources provided`),
      ...warnings('Projected', sources.flatMap(projectedPaths)),
    ];
  });
}

/** A container and its field path. */
export type Placed = readonly [field: string, container: JsonObject];

interface PlacedPort {
  readonly field: string;
  readonly port: JsonObject;
}

const numberAt = (port: JsonObject, key: string): number => Number(ownMember(port, key) ?? 0);

/** Formats a port like Go's `%+v`. */
const shown = (port: JsonObject): string =>
  `{Name:${stringAt(port, 'name')} HostPort:${numberAt(port, 'hostPort')} ContainerPort:${numberAt(port, 'containerPort')} ` +
  `Protocol:${stringAt(port, 'protocol')} HostIP:${stringAt(port, 'hostIP')}}`;

/** Warns of duplicate port names and host ports of a pod's containers. */
function portWarnings(containers: readonly Placed[]): string[] {
  const ports = containers.flatMap(([at, container]) =>
    objectsAt(container, 'ports').map((port, i): PlacedPort => ({ field: `${at}.ports[${i}]`, port })),
  );
  return [...clashes(ports), ...sameNames(ports)];
}

/** Each port is held against those of its number and protocol alone. */
function clashes(ports: readonly PlacedPort[]): string[] {
  const found: string[] = [];
  const before = new Map<string, PlacedPort[]>();
  for (const one of ports) {
    if (found.length >= mostWarnings) break;
    if (stringAt(one.port, 'hostIP') !== '' && numberAt(one.port, 'hostPort') === 0)
      found.push(`${one.field}: hostIP set without hostPort: ${shown(one.port)}`);
    const key = `${numberAt(one.port, 'containerPort')}/${stringAt(one.port, 'protocol')}`;
    const others = before.get(key) ?? [];
    before.set(key, others);
    for (const other of others) found.push(...clash(one, other));
    if (others.length < mostWarnings) others.push(one);
  }
  return found;
}

function clash({ field, port }: PlacedPort, other: PlacedPort): string[] {
  const same = (key: string): boolean => (ownMember(port, key) ?? '') === (ownMember(other.port, key) ?? '');
  if (!same('containerPort') || !same('protocol')) return [];
  const [mine, theirs] = [numberAt(port, 'hostPort'), numberAt(other.port, 'hostPort')];
  if (same('hostIP') && mine === theirs) return [`${field}: duplicate port definition with ${other.field}`];
  if (mine === 0 || theirs === 0) return [`${field}: overlapping port definition with ${other.field}`];
  const oneOpen = (stringAt(port, 'hostIP') === '') !== (stringAt(other.port, 'hostIP') === '');
  return mine === theirs && oneOpen
    ? [`${field}: dangerously ambiguous port definition with ${other.field}`]
    : [];
}

function sameNames(ports: readonly PlacedPort[]): string[] {
  const first = new Map<string, string>();
  return ports.flatMap(({ field, port }) => {
    const name = stringAt(port, 'name');
    const other = first.get(name);
    if (name !== '' && other === undefined) first.set(name, field);
    return name === '' || other === undefined
      ? []
      : [
          `${field}: duplicate port name ${JSON.stringify(name)} with ${other}, services and probes that select ports by name will use ${other}`,
        ];
  });
}
