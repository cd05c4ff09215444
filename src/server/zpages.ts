import { acceptedForm, type ZPage, zpageObject, zpageTypes } from '../kube/zpages.ts';
import { type Reply, type ServerRequest, text } from './reply.ts';

/** Answers a page in the form that the client accepts. Any method is served. */
export function zpage(page: ZPage, { headers }: ServerRequest): Reply {
  const { accept = '' } = headers;
  const form = acceptedForm(accept, page.kind, ['application/json']);
  if (!form) return notAcceptable(accept.toLowerCase());
  if (form.version === undefined) return text(200, page.text);
  const { contentType, object, warning } = zpageObject(page, form);
  return {
    status: 200,
    headers: {
      'Content-Type': contentType,
      ...(warning !== undefined && { Warning: `299 - "${warning}"` }),
    },
    body: JSON.stringify(object),
  };
}

/** Returns the refusal in the form that the client accepts, by default as indented JSON. */
function notAcceptable(accept: string): Reply {
  const accepted = new Set(accept.split(',').map((range) => range.split(';')[0]?.trim()));
  if (accepted.has('application/yaml'))
    return {
      status: 406,
      headers: { 'Content-Type': 'application/yaml' },
      body: `apiVersion: v1\ncode: 406\nkind: Status\nmessage: 'only the following media types are accepted: application/json, application/yaml,\n  text/plain'\nmetadata: {}\nreason: NotAcceptable\nstatus: Failure\n`,
    };
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `only the following media types are accepted: ${zpageTypes.join(', ')}`,
    reason: 'NotAcceptable',
    code: 406,
  };
  const body = accepted.has('application/json')
    ? `${JSON.stringify(status)}\n`
    : JSON.stringify(status, undefined, 2);
  return { status: 406, headers: { 'Content-Type': 'application/json' }, body };
}
