import { decodeKubeletConfiguration } from '../../../src/options/decode.ts';
import type { KubeletConfiguration } from '../../../src/options/kubelet/kubelet-configuration.ts';
import { OptionsError } from '../../../src/options/options-error.ts';
import { validateKubeletConfiguration } from '../../../src/options/kubelet/validate.ts';
import { check, type Replay } from '../harness.ts';

interface Input {
  readonly text?: string;
  readonly doc?: object;
}

interface Output {
  readonly decodeError: string | null;
  readonly errors: readonly string[] | null;
  readonly config?: object;
  readonly changed?: object;
}

const empty = decodeKubeletConfiguration(
  'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n',
).config;

/** The recording binary had no version and knew no JSON logs. */
const recorder = { version: { major: 0, minor: 0 }, logFormats: ['text'] };

/** Text to settings: the decoder's error, the rules that are broken, and what differs from the defaults. */
export const replay: Replay = (line) => {
  const { text, doc } = line['in'] as Input;
  const out = line['out'] as Output;
  const source = text ?? JSON.stringify(doc);
  try {
    const { config } = decodeKubeletConfiguration(source);
    const errors = validateKubeletConfiguration(config, recorder).map(({ message }) => message);
    const settings = out.config === undefined ? { changed: changes(config) } : { config };
    return check(out, { decodeError: null, errors, ...settings }, { operation: source });
  } catch (reason) {
    if (!(reason instanceof OptionsError)) throw reason;
    // where the reference panics, this agent names the fault
    if (out.decodeError?.startsWith('PANIC')) return undefined;
    const decodeError = reason.faults[0]?.message;
    return check(out.decodeError?.replace(/ in scheme "SCHEME"$/, ''), decodeError, { operation: source });
  }
};

function changes(config: KubeletConfiguration): object {
  return Object.fromEntries(
    Object.entries(config).filter(
      ([key, value]) => JSON.stringify(value) !== JSON.stringify(empty[key as keyof KubeletConfiguration]),
    ),
  );
}
