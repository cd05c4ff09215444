import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { AgentError } from '../base/errors.ts';

/** Of a project: the folder `name` is made in `cwd`. */
export interface ProjectPlace {
  readonly name: string;
  readonly cwd: string;
}

/** @throws {AgentError} `invalid_argument` for a name that is none. @param what e.g. `provider` */
export function checkProjectName(name: string, what: string): void {
  if (/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)) return;
  throw new AgentError(
    'invalid_argument',
    `a ${what} cannot be called ${JSON.stringify(name)}: use lower-case letters, digits and single dashes, such as my-rooms`,
  );
}

/** Writes the files of a project, and returns their paths. @throws {AgentError} `already_exists` when the folder holds something */
export async function writeProject(
  { name, cwd }: ProjectPlace,
  files: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const folder = resolve(cwd, name);
  if (existsSync(folder) && (await readdir(folder)).length > 0)
    throw new AgentError(
      'already_exists',
      `${folder} holds something already: choose another name or folder`,
    );
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  return Object.keys(files).map((path) => join(name, path));
}
