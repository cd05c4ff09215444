import { createHash } from 'node:crypto';
import { AgentError } from '../../base/errors.ts';
import { nameOf } from '../../kube/names.ts';
import type { Container, KubeObject, Pod, PodSpec, Secret, Volume } from '../../kube/types.ts';
import type { PodResolution, VolumeFile } from '../../provider/resolution.ts';

/** A config map or secret that a backing pod refers to. Values are base64. */
export interface CarriedObject {
  readonly kind: 'ConfigMap' | 'Secret';
  readonly name: string;
  /** Of a secret. */
  readonly type?: string;
  readonly data: Readonly<Record<string, string>>;
}

/** What a backing pod needs of the pod's references. */
export interface Carried {
  readonly objects: readonly CarriedObject[];
  /** The pod's volumes, with references to `objects`. */
  readonly volumes: readonly Volume[];
  /** The variables of each container, by its name. */
  readonly env: ReadonlyMap<string, NonNullable<Container['env']>>;
  readonly pullSecrets: readonly string[];
}

/** The kinds of volumes whose files the agent reads. */
export const resolvedVolumes = ['configMap', 'secret', 'downwardAPI', 'projected'] as const;

/** The fields of a pod that only the backing cluster knows. */
const backingFields = new Set(['status.podIP', 'status.podIPs', 'status.hostIP', 'status.hostIPs']);

/** The kind of a volume, with the API's name. */
export const volumeKind = ({ name: _name, ...sources }: Volume): string =>
  Object.keys(sources)[0] ?? 'emptyDir';

/**
 * Reads what a pod refers to and returns it as objects of the backing cluster, named after the backing pod.
 *
 * @throws {AgentError} a reference that cannot be resolved, in the kubelet's words
 */
export async function carriedOf(
  pod: Pod,
  name: string,
  {
    resolution,
    pullSecrets,
  }: { readonly resolution?: PodResolution; readonly pullSecrets: readonly Secret[] },
): Promise<Carried> {
  const objects: CarriedObject[] = [];
  const volumes: Volume[] = [];
  for (const volume of pod.spec?.volumes ?? []) {
    const files = isResolved(volume) ? await filesOf(volume, resolution) : undefined;
    if (!files) {
      volumes.push(volume);
      continue;
    }
    const object = volumeObject(
      volume,
      `${name}.volume.${volume.name}`,
      files,
      pod.spec ?? { containers: [] },
    );
    objects.push(object.object);
    volumes.push(object.volume);
  }
  const variables = await variablesOf(pod, `${name}.env`, resolution);
  if (variables.object) objects.push(variables.object);
  const pulls = pullSecrets.map((secret, index): CarriedObject => ({
    kind: 'Secret',
    name: `${name}.pull.${index}`,
    type: secret.type ?? 'Opaque',
    data: secret.data ?? {},
  }));
  objects.push(...pulls);
  return { objects, volumes, env: variables.env, pullSecrets: pulls.map((one) => one.name) };
}

const isResolved = (volume: Volume): boolean =>
  (resolvedVolumes as readonly string[]).includes(volumeKind(volume));

async function filesOf(
  volume: Volume,
  resolution: PodResolution | undefined,
): Promise<readonly VolumeFile[]> {
  const files = await resolution?.files(volume);
  if (files) return files;
  throw new AgentError(
    'failed_precondition',
    `volume "${volume.name}": the agent reads no API objects for pods`,
  );
}

const validKey = /^[-._a-zA-Z0-9]{1,200}$/;

/** The key of a name that may not be one. */
const keyFor = (name: string): string =>
  validKey.test(name) && !name.startsWith('..')
    ? name
    : `${name.replaceAll(/[^-_a-zA-Z0-9]/g, '_').slice(0, 180)}-${createHash('sha256').update(name).digest('hex').slice(0, 10)}`;

/**
 * The object of a volume and the volume that mounts it. A flat volume mounts all keys, so that keys that are added later appear; others name
 * path and mode of each file.
 */
function volumeObject(
  volume: Volume,
  name: string,
  files: readonly VolumeFile[],
  spec: PodSpec,
): { readonly object: CarriedObject; readonly volume: Volume } {
  const isConfig = volumeKind(volume) === 'configMap';
  const widen = holdsToken(volume) && spec.securityContext?.fsGroup === undefined ? 0o044 : 0;
  const data = Object.fromEntries(
    files.map(({ path, bytes }) => [keyFor(path), Buffer.from(bytes).toString('base64')]),
  );
  const modes = new Set(files.map(({ mode }) => mode | widen));
  const isFlat = modes.size <= 1 && files.every(({ path }) => keyFor(path) === path);
  const [mode = 0o644] = modes;
  const shape = isFlat
    ? { defaultMode: mode }
    : { items: files.map((file) => ({ key: keyFor(file.path), path: file.path, mode: file.mode | widen })) };
  return {
    object: { kind: isConfig ? 'ConfigMap' : 'Secret', name, data },
    volume: {
      name: volume.name,
      ...(isConfig ? { configMap: { name, ...shape } } : { secret: { secretName: name, ...shape } }),
    },
  };
}

/** A token belongs to the pod's user here; there all files are root's, and the volume is the pod's alone. */
const holdsToken = ({ projected }: Volume): boolean =>
  (projected?.sources ?? []).some(({ serviceAccountToken }) => serviceAccountToken != null);

async function variablesOf(
  pod: Pod,
  name: string,
  resolution: PodResolution | undefined,
): Promise<Pick<Carried, 'env'> & { readonly object?: CarriedObject }> {
  const env = new Map<string, NonNullable<Container['env']>>();
  const data: Record<string, string> = {};
  for (const container of containersOf(pod)) {
    const resolved = await resolution?.environment(container);
    if (!resolved && needsResolution(container))
      throw new AgentError(
        'failed_precondition',
        `container ${container.name}: its variables refer to API objects, and the agent reads none for pods`,
      );
    const list = (resolved ?? container.env ?? []).map(({ name: variable, value = '' }) => {
      const own = (container.env ?? []).findLast((one) => one.name === variable);
      if (own && isPassed(own)) return own;
      const key = keyFor(`${container.name}.${variable}`);
      data[key] = Buffer.from(value).toString('base64');
      return { name: variable, valueFrom: { secretKeyRef: { name, key } } };
    });
    env.set(container.name, list);
  }
  if (Object.keys(data).length === 0) return { env };
  return { env, object: { kind: 'Secret', name, data } };
}

/** Plain values, whose references to other variables the backing cluster expands, and fields that it alone knows. */
function isPassed({ valueFrom }: NonNullable<Container['env']>[number]): boolean {
  return valueFrom == null || backingFields.has(valueFrom.fieldRef?.fieldPath ?? '');
}

const needsResolution = ({ env = [], envFrom = [] }: Container): boolean =>
  envFrom.length > 0 || env.some((one) => !isPassed(one));

/** All containers except ephemeral ones. */
const containersOf = ({ spec }: Pod): readonly Container[] => [
  ...(spec?.initContainers ?? []),
  ...(spec?.containers ?? []),
];

/** The names of the objects that a backing pod refers to and that are its own: their names begin with the pod's. */
export function namesOfCarried(backing: Pod): readonly Pick<CarriedObject, 'kind' | 'name'>[] {
  const { volumes = [], imagePullSecrets = [] } = backing.spec ?? {};
  const found = [
    ...volumes.map(({ configMap }) => ({ kind: 'ConfigMap' as const, name: configMap?.name ?? '' })),
    ...volumes.map(({ secret }) => ({ kind: 'Secret' as const, name: secret?.secretName ?? '' })),
    ...imagePullSecrets.map(({ name = '' }) => ({ kind: 'Secret' as const, name })),
    ...containersOf(backing)
      .flatMap(({ env = [] }) => env)
      .map(({ valueFrom }) => ({ kind: 'Secret' as const, name: valueFrom?.secretKeyRef?.name ?? '' })),
  ];
  const own = found.filter(({ name }) => name.startsWith(`${nameOf(backing)}.`));
  return [...new Map(own.map((one) => [`${one.kind}/${one.name}`, one])).values()];
}

/** The API object of a carried one. */
export function objectOf(
  { kind, name, type, data }: CarriedObject,
  metadata: NonNullable<KubeObject['metadata']>,
): KubeObject {
  const shared = { apiVersion: 'v1', kind, metadata: { ...metadata, name } };
  if (kind === 'Secret') return { ...shared, type: type ?? 'Opaque', data } as KubeObject;
  const texts: Record<string, string> = {};
  const binaries: Record<string, string> = {};
  for (const [key, base64] of Object.entries(data)) {
    const bytes = Buffer.from(base64, 'base64');
    const text = bytes.toString();
    if (Buffer.from(text).equals(bytes)) texts[key] = text;
    else binaries[key] = base64;
  }
  return { ...shared, data: texts, binaryData: binaries } as KubeObject;
}
