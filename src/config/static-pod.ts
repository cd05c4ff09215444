import { goQuote } from '../go/go-quote.ts';
import { type Position, parseDocument, type TextDocument } from '../go/yaml/document.ts';
import { goJson } from '../go/go-json.ts';
import { typeMetaOf } from '../go/go-types.ts';
import { configHashAnnotation, nameOf, uidOf } from '../kube/names.ts';
import { fileName } from '../base/files/below.ts';
import { decodeStruct } from '../kube/decode/pod-decoder.ts';
import type { Pod, Toleration } from '../kube/types.ts';
import { defaultPod } from '../kube/validation/defaults.ts';
import type { PodValidationOptions } from '../kube/validation/options.ts';
import { staticPodFaults } from '../kube/validation/pod.ts';
import { apiReferenceFault } from './api-references.ts';
import { fnv128a } from '../base/fnv.ts';

/** Origin of a manifest. */
export interface ManifestOrigin {
  /** Path of the file, or URL. */
  readonly source: string;
  readonly isFile: boolean;
  readonly nodeName: string;
  /** What validation allows on this node; absent: the defaults. */
  readonly validation?: PodValidationOptions;
}

/** Why a manifest has no valid pod. */
export interface ManifestFault extends Partial<Position> {
  /** In the kubelet's words. */
  readonly message: string;
  /** How to fix it. */
  readonly advice?: string;
}

/**
 * The result of decoding a manifest. `parsed` is true when the text was recognized as the requested kind, whether or not it is valid;
 * when it is false the caller may try another kind.
 */
export type DecodedManifest =
  | { readonly parsed: true; readonly pods: readonly Pod[] }
  | { readonly parsed: boolean; readonly fault: ManifestFault };

/** Kinds of core/v1. The kubelet rejects those that are not pods with another message than unknown kinds. */
const knownKinds: ReadonlySet<string> = new Set(
  (
    'Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod ' +
    'PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount'
  )
    .split(' ')
    .flatMap((kind) => [kind, `${kind}List`])
    .concat('List', 'PodStatusResult', 'RangeAllocation', 'SerializedReference', 'Status', 'WatchEvent'),
);

/** Kinds that are known in the core group, and have no form within it. */
const optionKinds = /^(?:List|Get|Delete|Create|Update|Patch)Options$/;

/** Decodes, defaults and validates one static pod in YAML or JSON (R22, R23). Follows kubelet `tryDecodeSinglePod`. */
export function decodeSinglePod(text: string, origin: ManifestOrigin): DecodedManifest {
  const read = readObject(text, 'Pod');
  if ('fault' in read) return { parsed: false, fault: read.fault };
  return finishPods([read.value as Pod], origin);
}

/** Decodes a list of static pods; one invalid pod invalidates the list. Follows kubelet `tryDecodePodList`. */
export function decodePodList(text: string, origin: ManifestOrigin): DecodedManifest {
  const read = readObject(text, 'PodList');
  if ('fault' in read) return { parsed: false, fault: read.fault };
  return finishPods((read.value as { items?: readonly Pod[] }).items ?? [], origin);
}

/** Decodes a manifest as the requested kind: one pod, or a list of them. */
export type DecodeManifest = (
  kind: 'Pod' | 'PodList',
  text: string,
  origin: ManifestOrigin,
) => DecodedManifest | Promise<DecodedManifest>;

/** Calls {@link decodeSinglePod} or {@link decodePodList}. */
export const decodeManifest = (
  kind: 'Pod' | 'PodList',
  text: string,
  origin: ManifestOrigin,
): DecodedManifest => (kind === 'Pod' ? decodeSinglePod(text, origin) : decodePodList(text, origin));

type ReadObject = { readonly value: unknown } | { readonly fault: ManifestFault };

function readObject(text: string, kind: 'Pod' | 'PodList'): ReadObject {
  if (text.includes('\0'))
    return {
      fault: {
        message: 'yaml: control characters are not allowed',
        advice: 'the file is binary; a manifest is text',
      },
    };
  const document = parseDocument(text);
  if (!document.ok) return { fault: document.fault };
  const { value, body, locate } = document.document;
  // One pod is read from the JSON of the text, a list from the text itself.
  const meta = typeMetaOf(value, kind === 'Pod' ? body : text);
  if (typeof meta === 'string')
    return { fault: { message: meta, advice: `begin the manifest with apiVersion: v1 and kind: ${kind}` } };
  const advice = `a manifest holds apiVersion: v1 and kind: ${kind}`;
  if (meta.apiVersion !== 'v1' || !knownKinds.has(meta.kind)) {
    const where =
      meta.apiVersion === 'v1' && optionKinds.test(meta.kind)
        ? 'the internal version of group ""'
        : `version ${goQuote(meta.apiVersion)}`;
    const message = `no kind ${goQuote(meta.kind)} is registered for ${where}`;
    return { fault: { ...locate(['kind']), message, advice } };
  }
  // Unreadable content is reported before the wrong kind.
  const read = readStruct(value, meta.kind, document.document, /^\s*\{/.test(text));
  if (read && ('fault' in read || meta.kind === kind)) return read;
  const message = `invalid pod: the manifest is a v1 ${meta.kind}`;
  return { fault: { ...locate(['kind']), message, advice: `a manifest holds kind: ${kind}` } };
}

/** Decodes a pod or a list of pods as Go does; undefined for any other kind. */
function readStruct(
  value: unknown,
  kind: string,
  { locate }: Pick<TextDocument, 'locate'>,
  inOrder: boolean,
): ReadObject | undefined {
  if (kind !== 'Pod' && kind !== 'PodList') return undefined;
  const decoded = decodeStruct(value, kind, inOrder);
  if (decoded.ok) return { value: decoded.value };
  return { fault: { ...locate(decoded.fault.path), message: decoded.fault.message } };
}

function finishPods(decoded: readonly Pod[], origin: ManifestOrigin): DecodedManifest {
  const pods: Pod[] = [];
  for (const pod of decoded) {
    const finished = finishPod(pod, origin);
    if (typeof finished === 'string') return { parsed: true, fault: { message: finished } };
    pods.push(finished);
  }
  return { parsed: true, pods };
}

/** Returns a decoded pod completed to a static pod of this node, or why it is invalid. */
function finishPod(decoded: Pod, origin: ManifestOrigin): Pod | string {
  if (nameOf(decoded) === '') return 'invalid pod: name is needed for the pod';
  const pod = asStaticPod(defaultPod(converted(decoded)), origin);
  const reference = apiReferenceFault(pod);
  const faults = [...staticPodFaults(pod, origin.validation), ...uidFaults(uidOf(pod))];
  if (faults.length > 0) return `invalid pod: [${faults.join(' ')}]`;
  if (reference !== undefined) return reference;
  return pod;
}

/** Validates the uid: a static pod chooses its own, and it names directories of the node. */
function uidFaults(uid: string): readonly string[] {
  try {
    fileName(uid, 'it');
    return [];
  } catch {
    return [`metadata.uid: Invalid value: ${goQuote(uid)}: must be usable as the name of a directory`];
  }
}

/** Applies the conversion to Kubernetes' internal form: no type on the object, the plural of the IP, no negative grace period. */
function converted({ apiVersion: _version, kind: _kind, ...pod }: Pod): Pod {
  const { spec, status } = pod;
  const grace = spec?.terminationGracePeriodSeconds;
  const ips = status?.podIPs ?? (status?.podIP ? [{ ip: status.podIP }] : []);
  return {
    ...pod,
    ...(spec && {
      spec: { ...spec, ...(grace !== undefined && grace < 0 && { terminationGracePeriodSeconds: 1 }) },
    }),
    ...(ips[0] && { status: { ...status, podIPs: ips, podIP: ips[0].ip } }),
  };
}

/** Sets identity, node and status of a static pod (R22). Follows kubelet `applyDefaults`. */
function asStaticPod(pod: Pod, { source, isFile, nodeName }: ManifestOrigin): Pod {
  const { metadata, spec } = pod;
  const uid = nonEmpty(metadata?.uid) ?? manifestHash(pod, { source, isFile, nodeName });
  return {
    ...pod,
    metadata: {
      ...metadata,
      uid,
      name: staticPodName(nameOf(pod), nodeName),
      namespace: nonEmpty(metadata?.namespace) ?? 'default',
      annotations: { ...metadata?.annotations, [configHashAnnotation]: uid },
    },
    spec: {
      ...spec,
      containers: spec?.containers ?? [],
      nodeName,
      ...(isFile && { tolerations: withToleration(spec?.tolerations ?? []) }),
    },
    status: { ...pod.status, phase: 'Pending' },
  };
}

/** Returns a text, or undefined when it is empty. */
const nonEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

/** Returns the name of a static pod on a node. Kubelet `generatePodName`. */
export const staticPodName = (name: string, nodeName: string): string => `${name}-${nodeName.toLowerCase()}`;

/** Returns the identity of a manifest: another text, file, URL or (for files) node makes another pod. */
function manifestHash(pod: Pod, origin: Pick<ManifestOrigin, 'source' | 'isFile' | 'nodeName'>): string {
  const place = origin.isFile ? `host:${origin.nodeName}file:${origin.source}` : `url:${origin.source}`;
  return fnv128a(goJson(pod) + place);
}

/** Toleration of every NoExecute taint, so that pods from files stay on a node with problems. */
const staysPut: Toleration = { operator: 'Exists', effect: 'NoExecute' };

function withToleration(tolerations: readonly Toleration[]): readonly Toleration[] {
  const isSame = ({ key = '', value = '', operator, effect }: Toleration): boolean =>
    key === '' && value === '' && operator === staysPut.operator && effect === staysPut.effect;
  return tolerations.some(isSame)
    ? tolerations.map((one) => (isSame(one) ? staysPut : one))
    : [...tolerations, staysPut];
}
