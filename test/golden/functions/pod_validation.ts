import type { Pod } from '../../../src/kube/types.ts';
import { defaultPod } from '../../../src/kube/validation/defaults.ts';
import { formatFieldError } from '../../../src/kube/validation/field-error.ts';
import { validatePod } from '../../../src/kube/validation/pod.ts';
import { check, type Replay } from '../harness.ts';

/** As the kubelet makes a manifest a pod of its node; the recorded uid is a hash of Go memory and taken as it comes. */
function asStaticPod(manifest: Pod): Pod {
  const { metadata = {}, spec } = manifest;
  const ofNode = {
    ...metadata,
    name: `${(metadata.name ?? '').toLowerCase() === '' ? '' : (metadata.name ?? '')}-node-1`,
    namespace: metadata.namespace ?? 'default',
  };
  return defaultPod({
    ...manifest,
    metadata: ofNode,
    spec: {
      ...(spec ?? { containers: [] }),
      nodeName: 'node-1',
      tolerations: [...(spec?.tolerations ?? []), { operator: 'Exists', effect: 'NoExecute' }],
    },
  });
}

export const replay: Replay = ({ in: given, out }) => {
  const { manifest } = given as { manifest: Pod };
  const { errors } = out as { errors: readonly string[]; pod?: Pod };
  const pod = asStaticPod(manifest);
  const found = validatePod(pod, { allowPrivileged: false }).map(formatFieldError);
  return check(errors, found) ?? check((out as { pod?: Pod }).pod?.spec ?? pod.spec, pod.spec);
};
