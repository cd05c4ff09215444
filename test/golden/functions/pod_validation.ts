import { decodeSinglePod } from '../../../src/config/static-pod.ts';
import { configHashAnnotation, uidOf } from '../../../src/kube/names.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { staticPodFaults } from '../../../src/kube/validation/pod.ts';
import { check, type Replay } from '../harness.ts';

interface Output {
  readonly parsed: boolean;
  readonly error: string | null;
  readonly errors: readonly string[];
  readonly pod?: Pod;
}

/** The recorded uid is a hash of Go memory: only that there is one, twice, is compared (header). */
const hashes = ['.pod.metadata.uid', `.pod.metadata.annotations.${configHashAnnotation}`];

export const replay: Replay = ({ in: given, out }) => {
  const { manifest } = given as { manifest: Pod };
  const expected = out as Output;
  let errors: readonly string[] = [];
  const validate = (pod: Pod): readonly string[] =>
    (errors = staticPodFaults(pod, { allowPrivileged: false }));
  const origin = { source: '/etc/kubernetes/manifests/pod.yaml', isFile: true, nodeName: 'node-1', validate };
  const decoded = decodeSinglePod(JSON.stringify(manifest), origin);
  const pod = 'pods' in decoded ? decoded.pods[0] : undefined;
  const actual = {
    parsed: decoded.parsed,
    error: 'fault' in decoded ? decoded.fault.message : null,
    errors,
    ...(pod && { pod }),
  };
  if (pod && uidOf(pod) === '') throw new Error('a static pod without uid');
  return check(expected, actual, {}, { ignore: (path) => hashes.includes(path) });
};
