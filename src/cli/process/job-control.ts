import { readFileSync } from 'node:fs';
import type { JobControl } from '../view/terminal.ts';

function onSignal(signal: NodeJS.Signals, listener: () => void): () => void {
  process.on(signal, listener);
  return () => {
    process.off(signal, listener);
  };
}

/** This process as a shell job: Ctrl-Z, `fg` and `bg`. */
export const jobs: JobControl = {
  onStop: (listener) =>
    onSignal('SIGTSTP', () => {
      listener();
      // a process that handles SIGTSTP must stop itself
      process.kill(process.pid, 'SIGSTOP');
    }),
  onContinue: (listener) => onSignal('SIGCONT', listener),
  onExit: (listener) => {
    process.on('exit', listener);
    return () => {
      process.off('exit', listener);
    };
  },
  isForeground,
};

/** Reports whether this process is in the terminal's foreground group. True without a terminal, or when it cannot be determined. */
function isForeground(): boolean {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const [, , , group, , , owner = '-1'] = stat.slice(stat.lastIndexOf(')') + 1).split(' ');
    return owner === '-1' || owner === group;
  } catch {
    return true;
  }
}
