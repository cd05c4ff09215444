import { ownMember } from '../../base/own.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  objectAt,
  objectsAt,
  stringAt,
  textOf,
} from '../../apimachinery/json.ts';
import { bytesField as field, intField } from '../../base/protobuf-wire.ts';

const message = (...parts: readonly (Buffer | undefined)[]): Buffer =>
  Buffer.concat(parts.filter((part) => part !== undefined));
const text = (number: number, value: string): Buffer | undefined =>
  value === '' ? undefined : field(number, value);
const texts = (number: number, values: readonly unknown[]): Buffer[] =>
  values.map((value) => field(number, textOf(value)));

/** Writes `x-…` members; their values are YAML, of which JSON is a subset. */
const extensions = (number: number, value: JsonObject): Buffer[] =>
  Object.entries(value)
    .filter(([key]) => key.startsWith('x-'))
    .map(([key, inner]) =>
      field(number, message(field(1, key), field(2, message(field(2, `${JSON.stringify(inner)}\n`))))),
    );

const named = (name: string, body: Buffer): Buffer => field(1, message(field(1, name), field(2, body)));

function schema(value: JsonObject): Buffer {
  const items = value['items'];
  const more = value['additionalProperties'];
  const properties = Object.entries(objectAt(value, 'properties'));
  return message(
    text(1, stringAt(value, '$ref')),
    text(2, stringAt(value, 'format')),
    text(4, stringAt(value, 'description')),
    ...texts(19, listAt(value, 'required')),
    ...listAt(value, 'enum').map((one) => field(20, message(field(2, `${JSON.stringify(one)}\n`)))),
    isObject(more) ? field(21, message(field(1, schema(more)))) : undefined,
    stringAt(value, 'type') === '' ? undefined : field(22, message(field(1, stringAt(value, 'type')))),
    isObject(items) ? field(23, message(field(1, schema(items)))) : undefined,
    properties.length > 0
      ? field(25, message(...properties.map(([name, inner]) => named(name, schema(inner as JsonObject)))))
      : undefined,
    ...extensions(31, value),
  );
}

const whether = (number: number, value: unknown): Buffer | undefined =>
  value === true ? intField(number, 1) : undefined;

/** Writes an item of `parameters`: one in the body, the query or the path. */
function parameter(value: JsonObject): Buffer {
  const place = stringAt(value, 'in');
  const [description, name] = [stringAt(value, 'description'), stringAt(value, 'name')];
  const required = value['required'];
  if (place === 'body') {
    const body = [text(1, description), text(2, name), text(3, place), whether(4, required)];
    const inner = field(5, message(field(1, schema(objectAt(value, 'schema')))));
    // ParametersItem.parameter → Parameter.body_parameter
    return message(field(1, message(field(1, message(...body, inner)))));
  }
  const inPath = place === 'path';
  const head = [whether(1, required), text(2, place), text(3, description), text(4, name)];
  const type = text(inPath ? 5 : 6, stringAt(value, 'type'));
  // ParametersItem.parameter → Parameter.non_body_parameter → query_parameter_sub_schema or path_parameter_sub_schema
  const one = field(inPath ? 4 : 3, message(...head, type));
  return message(field(1, message(field(2, message(one)))));
}

/** Writes a response: `NamedResponseValue` → `ResponseValue` → `Response`. */
function response(code: string, value: JsonObject): Buffer {
  const answer = ownMember(value, 'schema');
  const body = message(
    text(1, stringAt(value, 'description')),
    isObject(answer) ? field(2, message(field(1, schema(answer)))) : undefined,
  );
  return field(1, message(field(1, code), field(2, message(field(1, body)))));
}

const parameters = (number: number, value: JsonObject): Buffer[] =>
  objectsAt(value, 'parameters').map((one) => field(number, parameter(one)));

const operation = (value: JsonObject): Buffer =>
  message(
    ...texts(1, listAt(value, 'tags')),
    text(3, stringAt(value, 'description')),
    text(5, stringAt(value, 'operationId')),
    ...texts(6, listAt(value, 'produces')),
    ...texts(7, listAt(value, 'consumes')),
    ...parameters(8, value),
    field(
      9,
      message(
        ...Object.entries(objectAt(value, 'responses')).map(([code, one]) =>
          response(code, isObject(one) ? one : {}),
        ),
      ),
    ),
    ...texts(10, listAt(value, 'schemes')),
    ...extensions(13, value),
  );

const methods: readonly (readonly [string, number])[] = [
  ['get', 2],
  ['put', 3],
  ['post', 4],
  ['delete', 5],
  ['options', 6],
  ['head', 7],
  ['patch', 8],
];

const pathItem = (value: JsonObject): Buffer =>
  message(
    ...methods.map(([name, number]) =>
      ownMember(value, name) === undefined ? undefined : field(number, operation(objectAt(value, name))),
    ),
    ...parameters(9, value),
  );

/** Writes a Swagger document as the protobuf message that older kubectl requests (gnostic's `openapi.v2.Document`). */
export function swaggerProtobuf(document: JsonObject): Buffer {
  const info = objectAt(document, 'info');
  const paths = Object.entries(objectAt(document, 'paths')).map(([name, value]) =>
    field(2, message(field(1, name), field(2, pathItem(value as JsonObject)))),
  );
  const definitions = Object.entries(objectAt(document, 'definitions')).map(([name, value]) =>
    named(name, schema(value as JsonObject)),
  );
  return message(
    field(1, '2.0'),
    field(2, message(field(1, stringAt(info, 'title')), field(2, stringAt(info, 'version')))),
    field(8, message(...paths)),
    field(9, message(...definitions)),
  );
}
