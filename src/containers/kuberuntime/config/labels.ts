import { ownMember } from '../../../base/own.ts';
import { goStructJson } from '../../../go/go-json.ts';
import type { Container, Pod } from '../../../kube/types.ts';
import { nameOf, namespaceOf, uidOf } from '../../../kube/names.ts';
import { hashContainer, hashText } from './hash.ts';

/** Labels on sandboxes and containers: what pod and container they are of. Any kubelet reads and writes the same. */
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

/** The fields of ports and of handlers, all levels of them, in the order in which a kubelet writes them. */
const portFields = ['name', 'hostPort', 'containerPort', 'protocol', 'hostIP'] as const;
const handlerFields = [
  ...['exec', 'command', 'httpGet', 'path', 'port', 'host', 'scheme', 'httpHeaders', 'name', 'value'],
  ...['tcpSocket', 'sleep', 'seconds'],
] as const;

/** Fields that Go leaves out when they are zero or empty. */
const optionalOfPorts: ReadonlySet<string> = new Set(['name', 'hostPort', 'protocol', 'hostIP']);
const optionalOfHandlers: ReadonlySet<string> = new Set(['command', 'path', 'host', 'scheme', 'httpHeaders']);

const isZero = (value: unknown): boolean =>
  value === '' || value === 0 || (Array.isArray(value) && value.length === 0);

const withoutZeros = (value: object, optional: ReadonlySet<string>): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, inner: unknown) => (optional.has(key) && isZero(inner) ? undefined : inner)),
  );

type StringMap = Readonly<Record<string, string>>;

/** Labels of a sandbox: the pod's own, then the three that name it (`newPodLabels`). */
export const newPodLabels = (pod: Pod): StringMap => ({
  ...pod.metadata?.labels,
  [podNameLabel]: nameOf(pod),
  [podNamespaceLabel]: namespaceOf(pod),
  [podUidLabel]: uidOf(pod),
});

/** Labels of a container (`newContainerLabels`). */
export const newContainerLabels = (container: Pick<Container, 'name'>, pod: Pod): StringMap => ({
  [podNameLabel]: nameOf(pod),
  [podNamespaceLabel]: namespaceOf(pod),
  [podUidLabel]: uidOf(pod),
  [containerNameLabel]: container.name,
});

/** Annotations of a container: all that is needed to stop it when its pod is no longer known (`newContainerAnnotations`). */
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

/** Who a container belongs to, read from its labels; an absent label reads as empty. */
export interface ContainerIdentity {
  readonly podName: string;
  readonly podNamespace: string;
  readonly podUid: string;
  readonly containerName: string;
}

/** Follows `getContainerInfoFromLabels`. */
export const identityFromLabels = (labels: StringMap | undefined): ContainerIdentity => ({
  podName: labels?.[podNameLabel] ?? '',
  podNamespace: labels?.[podNamespaceLabel] ?? '',
  podUid: labels?.[podUidLabel] ?? '',
  containerName: labels?.[containerNameLabel] ?? '',
});

/** What a container's annotations say; missing or broken ones read as zero (`getContainerInfoFromAnnotations`). */
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

/** Go's numbers end at 64 bits, ours grow coarse long before. */
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

/** The pod that labels name, as far as they do. */
export function podFromLabels(labels: StringMap | undefined): {
  readonly pod: Pod;
  readonly containerName: string;
} {
  const { podName, podNamespace, podUid, containerName } = identityFromLabels(labels);
  return { pod: { metadata: { name: podName, namespace: podNamespace, uid: podUid } }, containerName };
}
