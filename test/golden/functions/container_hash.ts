import {
  containerHashInput,
  hashContainer,
  hashText,
} from '../../../src/containers/kuberuntime/config/hash.ts';
import { check, type Replay } from '../harness.ts';

export const replay: Replay = ({ in: given, out }) => {
  const { container } = given as { container: { name: string; image?: string } };
  const hash = hashContainer(container);
  return check(
    out,
    { hash, hashHex: hashText(hash), hashInput: containerHashInput(container) },
    { operation: container },
  );
};
