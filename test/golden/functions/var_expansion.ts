import { messageOf } from '../../../src/base/errors.ts';
import { expand } from '../../../src/kube/expansion.ts';
import { expandSubPath } from '../../../src/kube/sub-path-expr.ts';
import { check, type Replay } from '../harness.ts';

export const replay: Replay = ({ in: given, out }) => {
  const { input, vars } = given as { input: string; vars: Readonly<Record<string, string>> };
  const lookup = (name: string): string | undefined => (Object.hasOwn(vars, name) ? vars[name] : undefined);
  const expanded = expand(input, lookup);
  try {
    return check(out, { expanded, subPath: expandSubPath(input, lookup) }, { operation: input });
  } catch (reason) {
    return check(out, { expanded, subPathError: messageOf(reason) }, { operation: input });
  }
};
