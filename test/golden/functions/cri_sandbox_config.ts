import { messageOf } from '../../../src/base/errors.ts';
import type { Pod } from '../../../src/kube/types.ts';
import type { RuntimeHelper } from '../../../src/containers/kuberuntime/helper.ts';
import { generateSandboxConfig } from '../../../src/containers/kuberuntime/config/sandbox-config.ts';
import { check, type Replay } from '../harness.ts';
import { toProtoJson } from '../support/cri-json.ts';
import {
  criOptionalKeys,
  type RecordedHelper,
  type RecordedNode,
  runtimeHelperOf,
  settingsOf,
} from '../support/cri-node.ts';

interface Input extends RecordedNode {
  readonly attempt: number;
  readonly helper: RecordedHelper;
  readonly pod: Pod;
}

async function resultOf(input: Input, helper: RuntimeHelper): Promise<unknown> {
  try {
    const config = await generateSandboxConfig(input.pod, input.attempt, helper, settingsOf(input));
    return { config: toProtoJson(config), error: null };
  } catch (reason) {
    return { config: null, error: messageOf(reason) };
  }
}

export const replay: Replay = async ({ in: given, out }) => {
  const input = given as Input;
  const actual = await resultOf(input, runtimeHelperOf(input.helper));
  return check(out, actual, { operation: given }, { optionalKeys: criOptionalKeys });
};
