"""The child of demo.c."""

print("checked", sum(i * i for i in range(300000)))
