import type { PodStatus } from '../../../kube/types.ts';
import { statusPatch } from '../../../status/patch.ts';
import { check, type Replay } from '../recording.ts';

interface Input {
  readonly old: PodStatus;
  readonly new: PodStatus;
  readonly uid?: string;
}

export const replay: Replay = (line) => {
  const input = line['in'] as Input;
  const expected = line['out'] as { readonly patch: string };
  const uid = (JSON.parse(expected.patch) as { metadata: { uid: string } }).metadata.uid;
  const { body, unchanged } = statusPatch(input.uid ?? uid, input.old, input.new);
  return check(expected, { patch: body, unchanged });
};
