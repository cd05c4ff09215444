import { decodePodList, decodeSinglePod, type ManifestOrigin } from '../../../config/static-pod.ts';
import type { Pod } from '../../../kube/types.ts';
import { apiOptionalKeys } from '../compare.ts';
import { check, type Replay } from '../recording.ts';

interface Input {
  readonly manifest?: string;
  readonly source: string;
  readonly isFile: boolean;
  readonly nodeName: string;
}

interface Output {
  readonly parsed: boolean;
  readonly error?: string;
  readonly pod?: Pod;
  readonly pods?: readonly Pod[];
}

/** Text to pod or to the exact words of the rejection. */
export const replay: Replay = (line) => {
  const { manifest = '', ...rest } = line['in'] as Input;
  const out = line['out'] as Output;
  const origin: ManifestOrigin = rest;
  const single = line['fn'] === 'decodeSinglePod';
  const decode = single ? decodeSinglePod : decodePodList;
  const result = decode(manifest, origin);
  if ('fault' in result) {
    const error = out.error?.startsWith('<unstable')
      ? out.error
      : result.fault.message + (/ in scheme "[^"]*"$/.exec(out.error ?? '')?.[0] ?? '');
    return check(out, { parsed: result.parsed, error }, { operation: manifest });
  }
  const pods = result.pods.map((pod, i) => ours(pod, single ? out.pod : out.pods?.[i], manifest));
  const actual = { parsed: true, ...(single ? { pod: pods[0] } : { pods }) };
  const again = decode(manifest, origin);
  return (
    check(out, actual, { operation: manifest }, { optionalKeys: apiOptionalKeys }) ??
    check(result, again, { operation: 'decoded again' })
  );
};

/** A hash that has the right form takes the recorded one's place. */
function ours(pod: Pod, recorded: Pod | undefined, manifest: string): Pod {
  const { uid = '', annotations = {} } = pod.metadata ?? {};
  const hash = recorded?.metadata?.uid ?? '';
  const wellFormed = /^[0-9a-f]{32}$/.test(uid) && annotations['kubernetes.io/config.hash'] === uid;
  if (!wellFormed || !/^[0-9a-f]{32}$/.test(hash) || manifest.includes(hash)) return pod;
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      uid: hash,
      annotations: { ...annotations, 'kubernetes.io/config.hash': hash },
    },
  };
}
