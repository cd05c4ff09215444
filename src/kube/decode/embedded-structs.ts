import { tableOf } from '../../base/own.ts';
const configuration = ['DeviceConfiguration', /^opaque$/] as const;
const reference = ['LocalObjectReference', /^name$/] as const;

/** Go structs whose JSON fields are inlined in their parent: the Go name, and a pattern of their fields. */
const embedded: Readonly<Record<string, readonly [struct: string, fields: RegExp]>> = tableOf({
  Volume: ['VolumeSource', /^(?!name$)/],
  Probe: ['ProbeHandler', /^(exec|httpGet|tcpSocket|grpc)$/],
  EphemeralContainer: ['EphemeralContainerCommon', /^(?!targetContainerName$)/],
  PersistentVolumeSpec: [
    'PersistentVolumeSource',
    /^(?!(accessModes|capacity|claimRef|mountOptions|nodeAffinity|persistentVolumeReclaimPolicy|storageClassName|volumeAttributesClassName|volumeMode)$)/,
  ],
  IngressRule: ['IngressRuleValue', /^http$/],
  RuleWithOperations: ['Rule', /^(?!operations$)/],
  NamedRuleWithOperations: ['RuleWithOperations.Rule', /^(?!(operations|resourceNames)$)/],
  DeviceClassConfiguration: configuration,
  DeviceClaimConfiguration: configuration,
  DeviceAllocationConfiguration: configuration,
  ConfigMapEnvSource: reference,
  ConfigMapKeySelector: reference,
  ConfigMapProjection: reference,
  ConfigMapVolumeSource: reference,
  SecretEnvSource: reference,
  SecretKeySelector: reference,
  SecretProjection: reference,
});

/** Returns the inlined struct of a type that has a field in Go; `undefined`: the type itself. */
export function embeddedIn(type: string, field: string): string | undefined {
  const [struct, fields] = embedded[type] ?? [];
  return fields?.test(field) ? struct : undefined;
}
