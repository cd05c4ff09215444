import { type Faults, forbidden, unsupported } from '../../../kube/validation/field-error.ts';
import { type JsonObject, listAt, textOf } from '../../../apimachinery/json.ts';

const modes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
const lone = 'ReadWriteOncePod';

/** Validates the access modes of a spec; ReadWriteOncePod stands alone. */
export function* accessModeFaults(field: string, spec: JsonObject): Faults {
  const accessModes = listAt(spec, 'accessModes').map(textOf);
  for (const mode of accessModes) if (!modes.includes(mode)) yield unsupported(field, mode, modes);
  if (accessModes.includes(lone) && accessModes.some((mode) => mode !== lone && modes.includes(mode)))
    yield forbidden(field, `may not use ${lone} with other access modes`);
}
