import { decodeSinglePod } from '../../../src/config/static-pod.ts';
import { configHashAnnotation, uidOf } from '../../../src/kube/names.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { check, type Replay } from '../harness.ts';

interface Output {
  readonly parsed: boolean;
  readonly error: string | null;
  readonly pod?: Pod;
}

/** The recorded uid is a hash of Go memory: only that there is one, twice, is compared (header). */
const hashes = ['.pod.metadata.uid', `.pod.metadata.annotations.${configHashAnnotation}`];

export const replay: Replay = ({ in: given, out }) => {
  const { manifest } = given as { manifest: Pod };
  const { parsed, error, pod: recorded } = out as Output;
  // the recorder's kubelet ran without leave for privileged containers
  const decoded = decodeSinglePod(JSON.stringify(manifest), {
    source: '/etc/kubernetes/manifests/pod.yaml',
    isFile: true,
    nodeName: 'node-1',
    validation: { allowPrivileged: false },
  });
  const pod = 'pods' in decoded ? decoded.pods[0] : undefined;
  if (pod && uidOf(pod) === '') throw new Error('a static pod without uid');
  const actual = {
    parsed: decoded.parsed,
    error: 'fault' in decoded ? decoded.fault.message : null,
    ...(pod && { pod }),
  };
  return check({ parsed, error, pod: recorded }, actual, {}, { ignore: (path) => hashes.includes(path) });
};
