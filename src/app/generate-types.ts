import { writeFile } from 'node:fs/promises';
import { AgentError, messageOf } from '../base/errors.ts';
import { readCrds } from '../envtest/crds.ts';
import { typesOfDefinitions } from './schema-types.ts';

export interface GenerateTypesOptions {
  /** CustomResourceDefinitions: files and folders. */
  readonly files: readonly string[];
  /** The file to write; absent: the text is returned only. */
  readonly out?: string;
}

/**
 * Returns the TypeScript interfaces and kinds of the CustomResourceDefinitions in files and folders.
 *
 * @throws {AgentError} `invalid_argument` when a file cannot be read or written, or there is no definition
 */
export async function generateTypes({ files, out }: GenerateTypesOptions): Promise<string> {
  const definitions = await readCrds(files);
  if (definitions.length === 0)
    throw new AgentError(
      'invalid_argument',
      `there is no CustomResourceDefinition in ${files.join(', ')}: name a file or folder with one`,
    );
  const text = typesOfDefinitions(
    definitions.map(({ object }) => ({ ...object })),
    'podtender/controller',
  );
  if (out !== undefined)
    await writeFile(out, text).catch((reason: unknown) => {
      throw new AgentError('invalid_argument', `--out ${out}: ${messageOf(reason)}`, { cause: reason });
    });
  return text;
}
