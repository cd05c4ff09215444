import { fieldsOf, type Shape } from './api-types.ts';

const reference = ['LocalObjectReference', /^name$/] as const;

/** Structs that JSON writes into their holder: their Go name, and which of the holder's fields are theirs. */
const embedded: Readonly<Record<string, readonly [struct: string, fields: RegExp]>> = {
  Volume: ['VolumeSource', /^(?!name$)/],
  Probe: ['ProbeHandler', /^(exec|httpGet|tcpSocket|grpc)$/],
  EphemeralContainer: ['EphemeralContainerCommon', /^(?!targetContainerName$)/],
  PersistentVolumeSpec: [
    'PersistentVolumeSource',
    /^(?!(accessModes|capacity|claimRef|mountOptions|nodeAffinity|persistentVolumeReclaimPolicy|storageClassName|volumeAttributesClassName|volumeMode)$)/,
  ],
  IngressRule: ['IngressRuleValue', /^http$/],
  ConfigMapEnvSource: reference,
  ConfigMapKeySelector: reference,
  ConfigMapProjection: reference,
  ConfigMapVolumeSource: reference,
  SecretEnvSource: reference,
  SecretKeySelector: reference,
  SecretProjection: reference,
};

/** The struct inside of a type that holds a field in Go; `undefined`: the type itself. */
export function embeddedIn(type: string, field: string): string | undefined {
  const [struct, fields] = embedded[type] ?? [];
  return fields?.test(field) ? struct : undefined;
}

/** A value with the fields of its structs in Go's order. */
export function inGoOrder(value: unknown, shape: Shape | undefined): unknown {
  if (Array.isArray(value))
    return shape?.is === 'list' ? value.map((item: unknown) => inGoOrder(item, shape.of)) : value;
  if (typeof value !== 'object' || value === null) return value;
  const members = value as Readonly<Record<string, unknown>>;
  if (shape?.is === 'map')
    return Object.fromEntries(
      Object.keys(members)
        .sort()
        .map((key) => [key, inGoOrder(members[key], shape.of)]),
    );
  const fields = shape?.is === 'struct' ? fieldsOf(shape.type) : undefined;
  if (!fields || fields.size === 0) return value;
  const known = [...fields.values()].filter(({ name }) => members[name] !== undefined);
  const unknown = Object.entries(members).filter(([name]) => !fields.has(name));
  return Object.fromEntries([
    ...known.map(({ name, shape: of }) => [name, inGoOrder(members[name], of)] as const),
    ...unknown,
  ]);
}
