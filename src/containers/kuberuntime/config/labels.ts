import { ownMember } from '../../../base/own.ts';
import { goStructJson } from '../../../go/go-json.ts';
import type { Container, Pod } from '../../../kube/types.ts';
import { nameOf, namespaceOf, uidOf } from '../../../kube/names.ts';
import { hashContainer, hashText } from './hash.ts';

/** Labels of sandboxes and containers that identify their pod and container; shared with the kubelet. */
export const podNameLabel = 'io.kubernetes.pod.name';
export const podNamespaceLabel = 'io.kubernetes.pod.namespace';
export const podUidLabel = 'io.kubernetes.pod.uid';
export const containerNameLabel = 'io.kubernetes.container.name';

const hashAnnotation = 'io.kubernetes.container.hash';
const restartCountAnnotation = 'io.kubernetes.container.restartCount';
const terminationPathAnnotation = 'io.kubernetes.container.terminationMessagePath';
const terminationPolicyAnnotation = 'io.kubernetes.container.terminationMessagePolicy';
const preStopAnnotation = 'io.kubernetes.container.preStopHandler';
const portsAnnotation = 'io.kubernetes.container.ports';
const podDeletionGraceAnnotation = 'io.kubernetes.pod.deletionGracePeriod';
const podGraceAnnotation = 'io.kubernetes.pod.terminationGracePeriod';

/** The fields of ports and handlers at every level, in the order in which the kubelet writes them. */
const portFields = ['name', 'hostPort', 'containerPort', 'protocol', 'hostIP'] as const;
const handlerFields = [
  ...['exec', 'command', 'httpGet', 'path', 'port', 'host', 'scheme', 'httpHeaders', 'name', 'value'],
  ...['tcpSocket', 'sleep', 'seconds'],
] as const;

/** Fields that Go omits when they are zero or empty. */
const optionalOfPorts: ReadonlySet<string> = new Set(['name', 'hostPort', 'protocol', 'hostIP']);
const optionalOfHandlers: ReadonlySet<string> = new Set(['command', 'path', 'host', 'scheme', 'httpHeaders']);

const isZero = (value: unknown): boolean =>
  value === '' || value === 0 || (Array.isArray(value) && value.length === 0);

const withoutZeros = (value: object, optional: ReadonlySet<string>): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, inner: unknown) => (optional.has(key) && isZero(inner) ? undefined : inner)),
  );

type StringMap = Readonly<Record<string, string>>;

/** Returns the labels of a sandbox: the pod's own and the three that identify the pod (`newPodLabels`). */
export const newPodLabels = (pod: Pod): StringMap => ({
  ...pod.metadata?.labels,
  [podNameLabel]: nameOf(pod),
  [podNamespaceLabel]: namespaceOf(pod),
  [podUidLabel]: uidOf(pod),
});

/** Returns the labels of a container (`newContainerLabels`). */
export const newContainerLabels = (container: Pick<Container, 'name'>, pod: Pod): StringMap => ({
  [podNameLabel]: nameOf(pod),
  [podNamespaceLabel]: namespaceOf(pod),
  [podUidLabel]: uidOf(pod),
  [containerNameLabel]: container.name,
});

/** Returns the annotations of a container: all that stopping it requires when its pod is unknown (`newContainerAnnotations`). */
export function newContainerAnnotations(
  container: Container,
  pod: Pod,
  restartCount: number,
  extra: StringMap = {},
): StringMap {
  const annotations: Record<string, string> = {
    ...extra,
    [hashAnnotation]: hashText(hashContainer(container)),
    [restartCountAnnotation]: String(restartCount),
    [terminationPathAnnotation]: container.terminationMessagePath ?? '',
    [terminationPolicyAnnotation]: container.terminationMessagePolicy ?? '',
  };
  const deletionGrace = pod.metadata?.deletionGracePeriodSeconds;
  if (deletionGrace !== undefined) annotations[podDeletionGraceAnnotation] = String(deletionGrace);
  const grace = pod.spec?.terminationGracePeriodSeconds;
  if (grace !== undefined) annotations[podGraceAnnotation] = String(grace);
  const preStop = container.lifecycle?.preStop;
  if (preStop)
    annotations[preStopAnnotation] = goStructJson(withoutZeros(preStop, optionalOfHandlers), handlerFields);
  if (container.ports?.length)
    annotations[portsAnnotation] = goStructJson(withoutZeros(container.ports, optionalOfPorts), portFields);
  return annotations;
}

/** Pod and container that a container's labels name; an absent label reads as empty. */
export interface ContainerIdentity {
  readonly podName: string;
  readonly podNamespace: string;
  readonly podUid: string;
  readonly containerName: string;
}

/** Reads the identity from labels. Follows `getContainerInfoFromLabels`. */
export const identityFromLabels = (labels: StringMap | undefined): ContainerIdentity => ({
  podName: labels?.[podNameLabel] ?? '',
  podNamespace: labels?.[podNamespaceLabel] ?? '',
  podUid: labels?.[podUidLabel] ?? '',
  containerName: labels?.[containerNameLabel] ?? '',
});

/** Values of a container's annotations; missing or invalid ones read as zero (`getContainerInfoFromAnnotations`). */
export interface ContainerRecord {
  readonly hash: number;
  readonly restartCount: number;
  readonly terminationMessagePath: string;
  readonly terminationMessagePolicy: string;
  readonly podDeletionGracePeriodSeconds?: number;
  readonly podTerminationGracePeriodSeconds?: number;
  readonly preStop?: NonNullable<NonNullable<Container['lifecycle']>['preStop']>;
  readonly ports?: NonNullable<Container['ports']>;
}

export function recordFromAnnotations(annotations: StringMap | undefined): ContainerRecord {
  const of = (key: string): string => ownMember(annotations, key) ?? '';
  const deletionGrace = wholeNumber(of(podDeletionGraceAnnotation));
  const grace = wholeNumber(of(podGraceAnnotation));
  const preStop = jsonOf(of(preStopAnnotation)) as ContainerRecord['preStop'];
  const ports = jsonOf(of(portsAnnotation)) as ContainerRecord['ports'];
  return {
    hash: hexNumber(of(hashAnnotation)),
    restartCount: wholeNumber(of(restartCountAnnotation)) ?? 0,
    terminationMessagePath: of(terminationPathAnnotation),
    terminationMessagePolicy: of(terminationPolicyAnnotation),
    ...(deletionGrace !== undefined && { podDeletionGracePeriodSeconds: deletionGrace }),
    ...(grace !== undefined && { podTerminationGracePeriodSeconds: grace }),
    ...(preStop && { preStop }),
    ...(ports && { ports }),
  };
}

/** Parses a number as Go does: `undefined` outside int64; values above 2^53 lose precision. */
function wholeNumber(text: string): number | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? Number(value) : undefined;
}

function hexNumber(text: string): number {
  if (!/^[0-9a-fA-F]+$/.test(text)) return 0;
  const value = BigInt(`0x${text}`);
  return BigInt.asUintN(64, value) === value ? Number(value) : 0;
}

function jsonOf(text: string): object | undefined {
  if (text === '') return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the pod that labels identify. */
export function podFromLabels(labels: StringMap | undefined): {
  readonly pod: Pod;
  readonly containerName: string;
} {
  const { podName, podNamespace, podUid, containerName } = identityFromLabels(labels);
  return { pod: { metadata: { name: podName, namespace: podNamespace, uid: podUid } }, containerName };
}
