import { constants } from 'node:os';
import { Signal } from '../../provider/cri-messages.ts';

/** Parses the stop signal of an image: `SIGQUIT`, `QUIT`, `3`, `SIGRTMIN+3`; `undefined` for none or one that does not exist. */
export function parseStopSignal(text: string): Signal | undefined {
  if (/^\d+$/.test(text)) return byNumber(Number(text));
  const name = text
    .toUpperCase()
    .replace(/^(?!SIG)/, 'SIG')
    .replace('+', 'PLUS')
    .replace('-', 'MINUS');
  return text === '' ? undefined : named(name);
}

function byNumber(number: number): Signal | undefined {
  if (number >= 34 && number <= 64)
    return named(
      number === 34
        ? 'SIGRTMIN'
        : number <= 49
          ? `SIGRTMINPLUS${number - 34}`
          : number === 64
            ? 'SIGRTMAX'
            : `SIGRTMAXMINUS${64 - number}`,
    );
  const found = Object.entries(constants.signals).find(([, value]) => value === number);
  return found && named(found[0]);
}

const named = (name: string): Signal | undefined => new Map<string, Signal>(Object.entries(Signal)).get(name);
