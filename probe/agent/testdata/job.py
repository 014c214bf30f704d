"""Executes Python code from standard input, one string literal per line. If the
last statement is an expression, its value is printed."""

import ast
import sys

space = {"__name__": "job"}
# Unbuffered: after an exec the next program reads the rest.
for line in open(0, "rb", buffering=0, closefd=False):
    line = line.decode()
    tree = ast.parse(ast.literal_eval(line))
    value = None
    try:
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
            exec(compile(tree, "job", "exec"), space)
            value = eval(compile(last, "job", "eval"), space)
        else:
            exec(compile(tree, "job", "exec"), space)
    except Exception as error:
        value = error
    print(repr(repr(value) if isinstance(value, Exception) else value), flush=True)
