import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import type { TerminalTools } from './supervisor-script.ts';

/** The directories in which a machine has its programs, as the value of PATH. */
export const programPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Returns the path of a program of this machine; `undefined` when it is not installed. */
export function findHostProgram(name: string): string | undefined {
  return programPath
    .split(':')
    .map((directory) => join(directory, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** Returns the programs that provide a terminal; `undefined` when one of them is not installed. */
export function findTerminalTools(): TerminalTools | undefined {
  const [script, stty] = [findHostProgram('script'), findHostProgram('stty')];
  return script === undefined || stty === undefined ? undefined : { script, stty };
}
