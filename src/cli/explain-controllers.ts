import { controllerTasks } from '../app/controller-tasks.ts';
import { nearest } from '../options/nearest.ts';
import { exitCodes } from './exit-codes.ts';

/** The operand of `podtender explain` that stands for the names of `--controllers`. */
const root = 'controllers';

/** True for `controllers` and `controllers.NAME`. */
export const isOfControllers = (path: string): boolean => path === root || path.startsWith(`${root}.`);

/** Prints the names that `--controllers` takes, and what each controller does. @returns the exit code */
export function explainControllers(
  path: string,
  output: 'text' | 'json',
  say: (line: string) => unknown,
): number {
  const name = path.slice(root.length + 1);
  const tasks: readonly (readonly [string, string])[] = Object.entries(controllerTasks);
  const shown = tasks.filter(([one]) => name === '' || one === name);
  if (shown.length === 0) {
    const near = nearest(name, Object.keys(controllerTasks));
    const hint = near === undefined ? '' : `; did you mean ${root}.${near}?`;
    say(`there is no controller ${name}${hint}`);
    return exitCodes.invalid;
  }
  const width = Math.max(...shown.map(([one]) => one.length));
  for (const [one, does] of shown)
    say(output === 'json' ? JSON.stringify({ controller: one, does }) : `${one.padEnd(width)}  ${does}`);
  return exitCodes.ok;
}
