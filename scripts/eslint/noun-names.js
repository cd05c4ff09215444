/** Participles that name nothing: each says that something happened to a value, not what the value is. */
const vague = new Set(['asked', 'given', 'kept', 'known', 'told', 'wanted']);

/**
 * Requires that variables, parameters, functions, and members of classes and interfaces are named by what they hold. Reports declarations
 * that are named by a participle in {@link vague}, not the uses of names that others declared.
 */
export const nounNames = {
  meta: {
    type: 'suggestion',
    schema: [],
    messages: {
      vague:
        "'{{name}}' does not say what it holds: use a noun, such as options, existing, expected, desired, request or report",
    },
  },
  create(context) {
    const check = (node) => {
      if (vague.has(node.name)) context.report({ node, messageId: 'vague', data: { name: node.name } });
    };
    const members = ['PropertyDefinition', 'MethodDefinition', 'TSPropertySignature', 'TSMethodSignature'];
    return {
      'Program:exit'() {
        const { scopes } = context.sourceCode.scopeManager;
        const declarations = scopes.flatMap(({ variables }) => variables.flatMap(({ defs }) => defs));
        // a function's name is declared inside of it, too
        const own = declarations.filter(({ type, name }) => name && type !== 'ImportBinding');
        for (const name of new Set(own.map((one) => one.name))) check(name);
      },
      [`:matches(${members.join(', ')}) > :matches(Identifier, PrivateIdentifier).key`]: check,
    };
  },
};
