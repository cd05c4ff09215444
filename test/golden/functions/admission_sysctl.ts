import { dotted, safeSysctlsOf, SysctlAllowlist } from '../../../src/admission/sysctl.ts';
import { messageOf } from '../../../src/base/errors.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { check, type Replay } from '../harness.ts';

interface Input {
  readonly kernel?: string;
  readonly allowlist?: readonly string[];
  readonly pod?: Pod;
}

function run({ kernel, allowlist, pod }: Input): unknown {
  if (kernel !== undefined) return { safe: safeSysctlsOf(kernel) };
  let list: SysctlAllowlist;
  try {
    list = new SysctlAllowlist(allowlist ?? []);
  } catch (reason) {
    return { constructionError: messageOf(reason) };
  }
  if (!pod) return {};
  const converted = pod.spec?.securityContext?.sysctls?.map(({ name, value }) => ({
    name: dotted(name),
    value,
  }));
  return { ...list.admit(pod), converted };
}

export const replay: Replay = ({ in: input, out }) => check(out, run(input as Input), { operation: input });
