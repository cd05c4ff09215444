import { tableOf } from '../../base/own.ts';
const reference = ['LocalObjectReference', /^name$/] as const;

/** Structs that JSON writes into their holder: their Go name, and which of the holder's fields are theirs. */
const embedded: Readonly<Record<string, readonly [struct: string, fields: RegExp]>> = tableOf({
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
});

/** The struct inside of a type that holds a field in Go; `undefined`: the type itself. */
export function embeddedIn(type: string, field: string): string | undefined {
  const [struct, fields] = embedded[type] ?? [];
  return fields?.test(field) ? struct : undefined;
}
